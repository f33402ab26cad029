;; Has four memories and takes more of each in turn, until it gets no more, and dies of it.
(component
;; use types
  (core module $more
    (memory 1)
    (func (export "grow") (result i32) (memory.grow (i32.const 16))))
  (core instance $second (instantiate $more))
  (core instance $third (instantiate $more))
  (core instance $fourth (instantiate $more))
  (core module $guest
    (import "second" "grow" (func $second (result i32)))
    (import "third" "grow" (func $third (result i32)))
    (import "fourth" "grow" (func $fourth (result i32)))
;; use base
;; use realloc
;; use validate-config
;; use describe
    (func $add (param $d i32) (result i32)
      (loop $again
        (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))
        (br_if $again (i32.ne (call $second) (i32.const -1)))
        (br_if $again (i32.ne (call $third) (i32.const -1)))
        (br_if $again (i32.ne (call $fourth) (i32.const -1))))
      (unreachable))
;; use update
;; use delete
;; use exports
  )
  (core instance $main (instantiate $guest
    (with "second" (instance $second)) (with "third" (instance $third)) (with "fourth" (instance $fourth))))
;; use world
)
