;; Calls the host before it is an instance.
(import "wharf:plugin/log@0.1.0" "emit" (func $emit (param i32 i32 i32 i32 i32)))
;; body
(func $early (call $emit (i32.const 2) (i32.const 1000) (i32.const 2) (i32.const 0) (i32.const 0)))
(start $early)
