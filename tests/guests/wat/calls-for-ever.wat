;; Never ends, and calls the host all the time: `add` asks for the time, `update` logs a line,
;; `delete` looks 256 values up.
(import "wharf:plugin/system@0.1.0" "now" (func $now (param i32)))
(import "wharf:plugin/log@0.1.0" "emit" (func $emit (param i32 i32 i32 i32 i32)))
(import "wharf:plugin/event@0.1.0" "get-many" (func $get_many (param i32 i32 i32 i32)))
;; body
(func $add (param $d i32) (result i32)
  (loop $again (call $now (i32.const 64)) (br $again))
  (unreachable))
(func $update (param $d i32) (result i32)
  (loop $again (call $emit (i32.const 2) (i32.const 1000) (i32.const 2) (i32.const 0) (i32.const 0)) (br $again))
  (unreachable))
;; The pointers stand at 2048 and are all empty: each is the whole object.
(func $delete (param $d i32) (result i32)
  (loop $again
    (global.set $heap (i32.const 8192))
    (call $get_many (i32.const 0) (i32.const 2048) (i32.const 256) (i32.const 64))
    (br $again))
  (unreachable))
