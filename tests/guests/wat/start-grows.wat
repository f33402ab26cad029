;; Takes all the memory that it gets before it is an instance, and dies of it.
;; body
(func $grow
  (loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
  (unreachable))
(start $grow)
