;; `add` calls a component inside of it, which calls back into it.
(component
;; use types
  (core module $back (func (export "back")))
  (core instance $back (instantiate $back))
  (func $back (canon lift (core func $back "back")))
  (component $inner
    (import "back" (func $back))
    (core func $lowered (canon lower (func $back)))
    (core module $caller
      (import "" "back" (func $back))
      (func (export "go") (call $back)))
    (core instance $caller (instantiate $caller (with "" (instance (export "back" (func $lowered))))))
    (func (export "go") (canon lift (core func $caller "go"))))
  (instance $inner (instantiate $inner (with "back" (func $back))))
  (alias export $inner "go" (func $go))
  (core func $go (canon lower (func $go)))
  (core module $guest
    (import "inner" "go" (func $go))
;; use base
;; use realloc
;; use validate-config
;; use describe
    (func $add (param $d i32) (result i32) (call $go) (call $done))
;; use update
;; use delete
;; use exports
  )
  (core instance $main (instantiate $guest (with "inner" (instance (export "go" (func $go))))))
;; use world
)
