;; Makes handles of a resource of its own and gives none back: a million in `add`, without end in
;; `update`.
(import "[export]test:guest/things" "[resource-new]thing" (func $new (param i32) (result i32)))
;; body
(func $add (param $d i32) (result i32)
  (local $n i32)
  (loop $again
    (drop (call $new (local.get $n)))
    (local.set $n (i32.add (local.get $n) (i32.const 1)))
    (br_if $again (i32.lt_u (local.get $n) (i32.const 1000000))))
  (call $done))
(func $update (param $d i32) (result i32)
  (loop $again (drop (call $new (i32.const 0))) (br $again))
  (unreachable))
