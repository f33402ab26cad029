;; Calls the host when the host wants memory of it.
(import "wharf:plugin/log@0.1.0" "emit" (func $emit (param i32 i32 i32 i32 i32)))
;; body
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
  (call $emit (i32.const 2) (i32.const 1000) (i32.const 2) (i32.const 0) (i32.const 0))
  (i32.const 8192))
