;; Takes table elements until it gets no more, and dies of it.
;; body
(table $t 1 funcref)
(func $add (param $d i32) (result i32)
  (loop $again (br_if $again (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1))))
  (unreachable))
