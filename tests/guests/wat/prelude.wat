;; What every guest of this folder is completed with. Each section below starts with a line
;; `;; section: NAME`. A guest file holds its imports, a line `;; body`, and its functions;
;; exported functions that it does not define are taken from here. A line `;; with NAME` stands
;; for one more section. In a whole component a line `;; use NAME` stands for that section: `types` at
;; its begin; `world` at its end, where the core instance `$main` is to have all that a guest exports.
;;
;; Memory: 16..64 answers, 64..112 results of imports, 1024.. texts of the guest, 8192.. heap.
;;
;; The canonical ABI of what a guest exports:
;;   add, update, delete   (param $d i32) (result i32): a pointer to the delivery, and one to
;;                         the result: 0 failed?, 4 which case, then at 8 the milliseconds of
;;                         requeue-after, or the fault: 8/12 reason, 16/20 message, 24/28 retry-after
;;   the delivery          36/40 key.name, 72 removal, 74 cause, 76 attempt, 88 size (all are u32
;;                         but removal and cause, which are bytes)
;;   describe              (result i32): a pointer to pointer and length
;;   validate-config       (param i32 i32) (result i32): a pointer to 0 refused?, 4/8 the errors

;; section: base
(memory (export "memory") 1)
(global $heap (mut i32) (i32.const 8192))
(data (i32.const 16) "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
(data (i32.const 1000) "{}")
(func $done (result i32)
  (i32.store (i32.const 16) (i32.const 0))
  (i32.store (i32.const 20) (i32.const 0))
  (i32.const 16))
(func $requeue (param $ms i32) (result i32)
  (i32.store (i32.const 16) (i32.const 0))
  (i32.store (i32.const 20) (i32.const 1))
  (i32.store (i32.const 24) (local.get $ms))
  (i32.const 16))
(func $fail (param $permanent i32) (param $reason i32) (param $reason_len i32) (param $message i32) (param $message_len i32)
  (param $has_after i32) (param $after i32) (result i32)
  (i32.store (i32.const 16) (i32.const 1))
  (i32.store (i32.const 20) (local.get $permanent))
  (i32.store (i32.const 24) (local.get $reason))
  (i32.store (i32.const 28) (local.get $reason_len))
  (i32.store (i32.const 32) (local.get $message))
  (i32.store (i32.const 36) (local.get $message_len))
  (i32.store (i32.const 40) (local.get $has_after))
  (i32.store (i32.const 44) (local.get $after))
  (i32.const 16))

;; section: answers
;; For guests that tell what the cluster answered; they import event.get as $get and have a line
;; `;; with answers`. Needs 1004..1016 of the memory.
(data (i32.const 1004) "Api")
(data (i32.const 1008) "ok ")
;; Puts what is at a pointer of the object at $to: is it there, and the text between its quotes.
(func $value (param $at i32) (param $len i32) (param $to i32)
  (call $get (i32.const 0) (local.get $at) (local.get $len) (local.get $to))
  (if (i32.load8_u (local.get $to))
    (then
      (i32.store offset=4 (local.get $to) (i32.add (i32.load offset=4 (local.get $to)) (i32.const 1)))
      (i32.store offset=8 (local.get $to) (i32.sub (i32.load offset=8 (local.get $to)) (i32.const 2))))))
;; $text is the text of a success, $case the case of an error.
(func $tell (param $failed i32) (param $case i32) (param $text i32) (param $len i32) (result i32)
  (local $out i32)
  (local.set $out (call $realloc (i32.const 0) (i32.const 0) (i32.const 1) (i32.add (local.get $len) (i32.const 3))))
  (memory.copy (local.get $out) (i32.const 1008) (i32.const 3))
  (if (local.get $failed)
    (then
      (i32.store8 (local.get $out) (i32.add (i32.const 48) (local.get $case)))
      (i32.store8 offset=1 (local.get $out) (i32.const 58))))
  (memory.copy (i32.add (local.get $out) (i32.const 3)) (local.get $text) (local.get $len))
  (call $fail (i32.const 0) (i32.const 1004) (i32.const 3) (local.get $out) (i32.add (local.get $len) (i32.const 3)) (i32.const 0) (i32.const 0)))
;; The cases that carry a text: not-granted, forbidden, conflict, invalid, unavailable.
(func $has_text (param $case i32) (result i32)
  (i32.and (i32.shr_u (i32.const 0xab) (local.get $case)) (i32.const 1)))
;; Answers with what stands at 64: the result of a call of `cluster`. $text is what a success says.
(func $report (param $text i32) (param $len i32) (result i32)
  (if (i32.eqz (i32.load8_u (i32.const 64)))
    (then (return (call $tell (i32.const 0) (i32.const 0) (local.get $text) (local.get $len)))))
  (if (call $has_text (i32.load8_u (i32.const 68)))
    (then (return (call $tell (i32.const 1) (i32.load8_u (i32.const 68)) (i32.load (i32.const 72)) (i32.load (i32.const 76))))))
  (call $tell (i32.const 1) (i32.load8_u (i32.const 68)) (i32.const 0) (i32.const 0)))

;; section: realloc
(func $realloc (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
  (local $at i32)
  (local.set $at (i32.and (i32.add (global.get $heap) (i32.sub (local.get $align) (i32.const 1))) (i32.sub (i32.const 0) (local.get $align))))
  (global.set $heap (i32.add (local.get $at) (local.get $size)))
  (block $enough
    (loop $more
      (br_if $enough (i32.le_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536))))
      (if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then unreachable))
      (br $more)))
  (memory.copy (local.get $at) (local.get $old) (local.get $old_size))
  (local.get $at))

;; section: validate-config
(func $validate-config (param i32 i32) (result i32)
  (i32.store (i32.const 16) (i32.const 0))
  (i32.const 16))

;; section: describe
(func $describe (result i32)
  (i32.store (i32.const 16) (i32.const 1000))
  (i32.store (i32.const 20) (i32.const 2))
  (i32.const 16))

;; section: add
(func $add (param $d i32) (result i32) (call $done))

;; section: update
(func $update (param $d i32) (result i32) (call $done))

;; section: delete
(func $delete (param $d i32) (result i32) (call $done))

;; section: exports
(export "wharf:plugin/setup@0.1.0#validate-config" (func $validate-config))
(export "wharf:plugin/setup@0.1.0#describe" (func $describe))
(export "wharf:plugin/handler@0.1.0#add" (func $add))
(export "wharf:plugin/handler@0.1.0#update" (func $update))
(export "wharf:plugin/handler@0.1.0#delete" (func $delete))

;; section: types
(import "wharf:plugin/types@0.1.0" (instance $types
  (type $gvk_ (record (field "group" string) (field "version" string) (field "kind" string)))
  (export "gvk" (type $gvk (eq $gvk_)))
  (type $object_ref_ (record (field "kind" $gvk) (field "namespace" (option string)) (field "name" string) (field "uid" string)))
  (export "object-ref" (type $object_ref (eq $object_ref_)))
  (type $cause_ (enum "initial-list" "watch" "resync" "requeue" "retry" "reload" "changed-offline" "related" "manual" "schedule"))
  (export "cause" (type $cause (eq $cause_)))
  (type $removal_ (enum "none" "gone" "unmatched" "replaced"))
  (export "removal" (type $removal (eq $removal_)))
  (type $delivery_ (record
    (field "key" $object_ref) (field "resource-version" string) (field "deleting" bool) (field "subscription" string)
    (field "removal" $removal) (field "final-state-unknown" bool) (field "cause" $cause) (field "attempt" u32)
    (field "queued-ms" u32) (field "budget-ms" u32) (field "size" u32) (field "traceparent" string)))
  (export "delivery" (type (eq $delivery_)))
  (type $outcome_ (variant (case "done") (case "requeue-after" u32)))
  (export "outcome" (type (eq $outcome_)))
  (type $fault_ (record (field "reason" string) (field "message" string) (field "retry-after-ms" (option u32))))
  (export "fault" (type $fault (eq $fault_)))
  (type $failure_ (variant (case "retry" $fault) (case "permanent" $fault)))
  (export "failure" (type (eq $failure_)))))
(alias export $types "delivery" (type $delivery))
(alias export $types "outcome" (type $outcome))
(alias export $types "failure" (type $failure))
(type $handle (func (param "d" $delivery) (result (result $outcome (error $failure)))))

;; section: world
(alias core export $main "memory" (core memory $memory))
(alias core export $main "cabi_realloc" (core func $realloc))
(func $validate (param "config" string) (result (result (error (list string))))
  (canon lift (core func $main "wharf:plugin/setup@0.1.0#validate-config") (memory $memory) (realloc $realloc)))
(func $describe (result string) (canon lift (core func $main "wharf:plugin/setup@0.1.0#describe") (memory $memory)))
(func $add (type $handle) (canon lift (core func $main "wharf:plugin/handler@0.1.0#add") (memory $memory) (realloc $realloc)))
(func $update (type $handle) (canon lift (core func $main "wharf:plugin/handler@0.1.0#update") (memory $memory) (realloc $realloc)))
(func $delete (type $handle) (canon lift (core func $main "wharf:plugin/handler@0.1.0#delete") (memory $memory) (realloc $realloc)))
(instance $setup (export "validate-config" (func $validate)) (export "describe" (func $describe)))
(instance $handler (export "add" (func $add)) (export "update" (func $update)) (export "delete" (func $delete)))
(export "wharf:plugin/setup@0.1.0" (instance $setup))
(export "wharf:plugin/handler@0.1.0" (instance $handler))
