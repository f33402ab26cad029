;; Calls itself without end: `add` directly, `update` through a table and another function,
;; `describe` as `add`.
;; body
(type $step (func (param i32) (result i32)))
(table 2 funcref)
(elem (i32.const 0) $there $back)
(func $deeper (param $n i32) (result i32) (i32.add (call $deeper (i32.add (local.get $n) (i32.const 1))) (local.get $n)))
(func $there (type $step) (i32.add (call_indirect (type $step) (i32.const 7) (i32.const 1)) (local.get 0)))
(func $back (type $step) (i32.add (call_indirect (type $step) (i32.const 7) (i32.const 0)) (local.get 0)))
(func $add (param $d i32) (result i32) (drop (call $deeper (i32.const 0))) (call $done))
(func $update (param $d i32) (result i32) (drop (call $there (i32.const 0))) (call $done))
(func $describe (result i32) (drop (call $deeper (i32.const 0))) (i32.const 16))
