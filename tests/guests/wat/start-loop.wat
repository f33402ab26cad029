;; Never gets as far as being an instance.
;; body
(func $spin (loop $again (br $again)))
(start $spin)
