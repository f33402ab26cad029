;; Reads the ConfigMap `x` thirty times, one after the other, and computes next to nothing.
(import "wharf:plugin/cluster@0.1.0" "get"
  (func $cluster_get (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
;; body
(data (i32.const 1024) "v1")
(data (i32.const 1032) "ConfigMap")
(data (i32.const 1048) "x")
(func $add (param $d i32) (result i32)
  (local $n i32)
  (loop $again
    (call $cluster_get
      (i32.const 0) (i32.const 0) (i32.const 1024) (i32.const 2) (i32.const 1032) (i32.const 9)
      (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1048) (i32.const 1) (i32.const 0) (i32.const 0)
      (i32.const 0) (i32.const 64))
    (local.set $n (i32.add (local.get $n) (i32.const 1)))
    (br_if $again (i32.lt_u (local.get $n) (i32.const 30))))
  (call $done))
