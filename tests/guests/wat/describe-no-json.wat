;; Describes itself in words.
;; body
(data (i32.const 1024) "I watch {pods}\1b[2J")
(func $describe (result i32)
  (i32.store (i32.const 16) (i32.const 1024))
  (i32.store (i32.const 20) (i32.const 18))
  (i32.const 16))
