;; Asks for 100,000 random bytes; done if 65,536 came and the clock is past 2020.
(import "wharf:plugin/system@0.1.0" "random" (func $random (param i32 i32)))
(import "wharf:plugin/system@0.1.0" "now" (func $now (param i32)))
;; body
(func $add (param $d i32) (result i32)
  (call $random (i32.const 100000) (i32.const 64))
  (if (i32.ne (i32.load (i32.const 68)) (i32.const 65536)) (then unreachable))
  (call $now (i32.const 64))
  (if (i32.lt_u (i32.load (i32.const 64)) (i32.const 1577836800)) (then unreachable))
  (call $done))
