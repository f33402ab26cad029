;; `add` logs two errors and a warning, and traps; `update` is done.
(import "wharf:plugin/log@0.1.0" "emit" (func $emit (param i32 i32 i32 i32 i32)))
;; body
(data (i32.const 1024) "index out of bounds")
(data (i32.const 1056) "in handler.c:7")
(func $add (param $d i32) (result i32)
  (call $emit (i32.const 4) (i32.const 1024) (i32.const 19) (i32.const 0) (i32.const 0))
  (call $emit (i32.const 3) (i32.const 1024) (i32.const 5) (i32.const 0) (i32.const 0))
  (call $emit (i32.const 4) (i32.const 1056) (i32.const 14) (i32.const 0) (i32.const 0))
  (unreachable))
