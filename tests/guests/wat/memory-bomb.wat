;; Takes memory until it gets no more, and dies of it.
;; body
(func $add (param $d i32) (result i32)
  (loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
  (unreachable))
