;; Answers with cases that there are not: of the result, of the outcome, of the failure; `describe`
;; with a text beyond its memory.
;; body
(func $add (param $d i32) (result i32)
  (i32.store (i32.const 16) (i32.const 2))
  (i32.const 16))
(func $update (param $d i32) (result i32)
  (i32.store (i32.const 16) (i32.const 0))
  (i32.store (i32.const 20) (i32.const 7))
  (i32.const 16))
(func $delete (param $d i32) (result i32)
  (call $fail (i32.const 9) (i32.const 1000) (i32.const 2) (i32.const 1000) (i32.const 2) (i32.const 0) (i32.const 0)))
(func $validate-config (param i32 i32) (result i32)
  (i32.store (i32.const 16) (i32.const 255))
  (i32.const 16))
(func $describe (result i32)
  (i32.store (i32.const 16) (i32.const 0xfffffff0))
  (i32.store (i32.const 20) (i32.const 64))
  (i32.const 16))
