;; Describes itself in 300 KiB.
;; body
(func $describe (result i32)
  (drop (memory.grow (i32.const 8)))
  (memory.fill (i32.const 65536) (i32.const 32) (i32.const 307200))
  (i32.store (i32.const 16) (i32.const 65536))
  (i32.store (i32.const 20) (i32.const 307200))
  (i32.const 16))
