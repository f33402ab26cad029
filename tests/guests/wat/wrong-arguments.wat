;; Calls the host with what there is not: `add` with an unknown level, `update` with an unknown
;; state, `delete` with a text beyond its memory. `validate-config` answers at an odd address,
;; `describe` at the last one.
(import "wharf:plugin/log@0.1.0" "emit" (func $emit (param i32 i32 i32 i32 i32)))
(import "wharf:plugin/event@0.1.0" "get" (func $get (param i32 i32 i32 i32)))
;; body
(func $add (param $d i32) (result i32)
  (call $emit (i32.const 99) (i32.const 1000) (i32.const 2) (i32.const 0) (i32.const 0))
  (call $done))
(func $update (param $d i32) (result i32)
  (call $get (i32.const 7) (i32.const 1000) (i32.const 0) (i32.const 64))
  (call $done))
(func $delete (param $d i32) (result i32)
  (call $emit (i32.const 2) (i32.const 65530) (i32.const 0x7fffffff) (i32.const 0) (i32.const 0))
  (call $done))
(func $validate-config (param i32 i32) (result i32) (i32.const 17))
(func $describe (result i32) (i32.const 0xfffffffc))
