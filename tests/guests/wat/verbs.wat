;; Uses the other functions of `cluster`, as its object says, and answers as cluster.wat does.
;;   add     list-objects of the ConfigMaps in /data/namespace (without it: all namespaces) with
;;           the label selector /data/selector; says the first item
;;   update  merge-patch of the ConfigMap /data/name with the JSON text at /data/patch, of the
;;           subresource /data/subresource (if it is there); says the new resourceVersion
;;   delete  delete of the ConfigMap /data/name
(import "wharf:plugin/event@0.1.0" "get" (func $get (param i32 i32 i32 i32)))
(import "wharf:plugin/cluster@0.1.0" "list-objects" (func $list (param i32 i32)))
(import "wharf:plugin/cluster@0.1.0" "merge-patch" (func $patch (param i32 i32)))
(import "wharf:plugin/cluster@0.1.0" "delete" (func $cluster_delete (param i32 i32)))
;; body
(data (i32.const 1024) "v1")
(data (i32.const 1032) "ConfigMap")
(data (i32.const 1048) "/data/name")
(data (i32.const 1064) "/data/namespace")
(data (i32.const 1088) "/data/selector")
(data (i32.const 1104) "/data/patch")
(data (i32.const 1120) "/data/subresource")
;; with answers
;; The arguments stand at 600: first the kind, then a namespace and, in a target, the name.
(func $kind
  (i32.store (i32.const 608) (i32.const 1024))
  (i32.store (i32.const 612) (i32.const 2))
  (i32.store (i32.const 616) (i32.const 1032))
  (i32.store (i32.const 620) (i32.const 9)))
(func $name
  (call $value (i32.const 1048) (i32.const 10) (i32.const 512))
  (i32.store (i32.const 636) (i32.load (i32.const 516)))
  (i32.store (i32.const 640) (i32.load (i32.const 520))))
(func $add (param $d i32) (result i32)
  (local $item i32)
  (call $kind)
  (call $value (i32.const 1064) (i32.const 15) (i32.const 624))
  (call $value (i32.const 1088) (i32.const 14) (i32.const 512))
  (i32.store (i32.const 636) (i32.load (i32.const 516)))
  (i32.store (i32.const 640) (i32.load (i32.const 520)))
  (call $list (i32.const 600) (i32.const 64))
  (local.set $item (i32.load (i32.const 68)))
  (if (i32.load8_u (i32.const 64)) (then (local.set $item (i32.const 0))))
  (call $report (i32.load (local.get $item)) (i32.load offset=4 (local.get $item))))
(func $update (param $d i32) (result i32)
  (call $kind)
  (call $name)
  (call $get (i32.const 0) (i32.const 1104) (i32.const 11) (i32.const 512))
  (i32.store (i32.const 652) (i32.load (i32.const 516)))
  (i32.store (i32.const 656) (i32.load (i32.const 520)))
  (call $value (i32.const 1120) (i32.const 17) (i32.const 672))
  (call $patch (i32.const 600) (i32.const 64))
  (call $report (i32.load (i32.const 68)) (i32.load (i32.const 72))))
(func $delete (param $d i32) (result i32)
  (call $kind)
  (call $name)
  ;; No options, though another call of this instance may have left some there.
  (memory.fill (i32.const 652) (i32.const 0) (i32.const 24))
  (call $cluster_delete (i32.const 600) (i32.const 64))
  (call $report (i32.const 1048) (i32.const 0)))
