;; `validate-config` refuses with two errors unless the configuration is exactly `{}`;
;; `describe` hands the value at /a back.
(import "wharf:plugin/config@0.1.0" "get" (func $get (param i32 i32 i32)))
;; body
(data (i32.const 1024) "/a")
(data (i32.const 1032) "a is missing")
(data (i32.const 1056) "\08\04\00\00\0c\00\00\00\08\04\00\00\01\00\00\00")
(func $validate-config (param $at i32) (param $len i32) (result i32)
  (i32.store (i32.const 16) (i32.ne (local.get $len) (i32.const 2)))
  (i32.store (i32.const 20) (i32.const 1056))
  (i32.store (i32.const 24) (i32.const 2))
  (i32.const 16))
(func $describe (result i32)
  (call $get (i32.const 1024) (i32.const 2) (i32.const 64))
  (if (i32.eqz (i32.load8_u (i32.const 64))) (then unreachable))
  (i32.const 68))
