;; Fails as the contract has it: `add` wants to be called again after 250 ms, `update` never
;; again until the object changes, `delete` again with the host's back-off.
;; body
(data (i32.const 1024) "Busy")
(data (i32.const 1032) "BadSpec")
(data (i32.const 1040) "try\0alater")
(func $add (param $d i32) (result i32)
  (call $fail (i32.const 0) (i32.const 1024) (i32.const 4) (i32.const 1040) (i32.const 9) (i32.const 1) (i32.const 250)))
(func $update (param $d i32) (result i32)
  (call $fail (i32.const 1) (i32.const 1032) (i32.const 7) (i32.const 1040) (i32.const 9) (i32.const 0) (i32.const 0)))
(func $delete (param $d i32) (result i32)
  (call $fail (i32.const 0) (i32.const 1024) (i32.const 4) (i32.const 1040) (i32.const 9) (i32.const 0) (i32.const 0)))
