;; Describes itself in 200,000 brackets.
;; body
(func $describe (result i32)
  (drop (memory.grow (i32.const 8)))
  (memory.fill (i32.const 65536) (i32.const 91) (i32.const 200000))
  (i32.store (i32.const 16) (i32.const 65536))
  (i32.store (i32.const 20) (i32.const 200000))
  (i32.const 16))
