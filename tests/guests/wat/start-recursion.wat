;; Calls itself without end before it is an instance.
;; body
(func $deeper (call $deeper))
(start $deeper)
