;; Does not know what it wants.
;; body
(func $describe (result i32) (unreachable))
