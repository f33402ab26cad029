;; Each `add` takes another MiB of memory, keeps it, and traps if it gets none.
;; body
(func $add (param $d i32) (result i32)
  (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable))
  (call $done))
