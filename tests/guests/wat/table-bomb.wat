;; Takes table elements until it gets no more, and dies of it: `add` in one table, `update` in two
;; in turn.
;; body
(table $t 1 funcref)
(table $u 1 funcref)
(func $add (param $d i32) (result i32)
  (loop $again (br_if $again (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1))))
  (unreachable))
(func $update (param $d i32) (result i32)
  (loop $again
    (br_if $again (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)))
    (br_if $again (i32.ne (table.grow $u (ref.null func) (i32.const 1000)) (i32.const -1))))
  (unreachable))
