/*
 * The component's exports: the ways from the host to a plugin's functions and back. Owns the
 * beginning and the end of a call; all else is in the files beside this one.
 */
#include "internal.h"

typedef wharf_result handler(const wharf_event *event);

__attribute__((weak)) void wharf_validate(void) {}

__attribute__((weak)) wharf_result wharf_update(const wharf_event *event) {
    return wharf_add(event);
}

__attribute__((weak)) wharf_result wharf_delete(const wharf_event *event) {
    (void)event;
    return wharf_done();
}

static wharf_object_ref from_ref(const wharf_plugin_types_object_ref_t *ref) {
    wharf_object_ref key = {{wharf__from(ref->kind.group), wharf__from(ref->kind.version), wharf__from(ref->kind.kind)},
                            ref->namespace_.is_some ? wharf__from(ref->namespace_.val) : wharf__absent,
                            wharf__from(ref->name),
                            wharf__from(ref->uid)};
    return key;
}

static wharf_event from_delivery(const wharf_plugin_types_delivery_t *d, wharf_change change) {
    wharf_event event = {
        .change = change,
        .key = from_ref(&d->key),
        .resource_version = wharf__from(d->resource_version),
        .deleting = d->deleting,
        .subscription = wharf__from(d->subscription),
        .removal = (wharf_removal)d->removal,
        .final_state_unknown = d->final_state_unknown,
        .cause = (wharf_cause)d->cause,
        .attempt = d->attempt,
        .queued_ms = d->queued_ms,
        .budget_ms = d->budget_ms,
        .size = d->size,
        .traceparent = wharf__from(d->traceparent),
    };
    return event;
}

static void fail(const wharf_result *failure, wharf_plugin_types_failure_t *to) {
    bool permanent = failure->end == WHARF__PERMANENT;
    wharf_plugin_types_fault_t fault = {wharf__to(failure->reason), wharf__to(wharf__utf8(failure->message)),
                                        {!permanent && failure->has_after, failure->after_ms}};
    to->tag = permanent ? WHARF_PLUGIN_TYPES_FAILURE_PERMANENT : WHARF_PLUGIN_TYPES_FAILURE_RETRY;
    if (permanent) {
        to->val.permanent = fault;
    } else {
        to->val.retry = fault;
    }
}

static bool call(handler *function, wharf_change change, const wharf_plugin_types_delivery_t *delivery,
                 wharf_plugin_types_outcome_t *outcome, wharf_plugin_types_failure_t *failure) {
    wharf__begin();
    wharf_event event = from_delivery(delivery, change);
    wharf_result result = function(&event);
    if (wharf__running.failed) {
        result = wharf__running.failure;
    }
    bool failed = result.end == WHARF__RETRY || result.end == WHARF__PERMANENT;
    if (failed) {
        fail(&result, failure);
    }
    wharf__end();
    if (failed) {
        return false;
    }
    bool again = result.end == WHARF__REQUEUE;
    outcome->tag = again ? WHARF_PLUGIN_TYPES_OUTCOME_REQUEUE_AFTER : WHARF_PLUGIN_TYPES_OUTCOME_DONE;
    outcome->val.requeue_after = result.after_ms;
    return true;
}

bool exports_wharf_plugin_handler_add(exports_wharf_plugin_handler_delivery_t *delivery,
                                      exports_wharf_plugin_handler_outcome_t *outcome,
                                      exports_wharf_plugin_handler_failure_t *failure) {
    return call(wharf_add, WHARF_ADD, delivery, outcome, failure);
}

bool exports_wharf_plugin_handler_update(exports_wharf_plugin_handler_delivery_t *delivery,
                                         exports_wharf_plugin_handler_outcome_t *outcome,
                                         exports_wharf_plugin_handler_failure_t *failure) {
    return call(wharf_update, WHARF_UPDATE, delivery, outcome, failure);
}

bool exports_wharf_plugin_handler_delete(exports_wharf_plugin_handler_delivery_t *delivery,
                                         exports_wharf_plugin_handler_outcome_t *outcome,
                                         exports_wharf_plugin_handler_failure_t *failure) {
    return call(wharf_delete, WHARF_DELETE, delivery, outcome, failure);
}

bool exports_wharf_plugin_setup_validate_config(controller_string_t *config, controller_list_string_t *wrong) {
    wharf__begin();
    wharf__running.validating = true;
    wharf__running.config = wharf__from(*config);
    wharf_validate();
    if (wharf__running.failed) {
        wharf__refuse(wharf__running.failure.message);
    }
    wharf__running.validating = false;
    wharf_strs refusals = wharf__running.refusals;
    wrong->len = refusals.len;
    wrong->ptr = wharf__take(refusals.len * sizeof *wrong->ptr + 1);
    for (size_t i = 0; i < refusals.len; i++) {
        wrong->ptr[i] = wharf__to(wharf__utf8(refusals.items[i]));
    }
    wharf__end();
    return refusals.len == 0;
}

void exports_wharf_plugin_setup_describe(controller_string_t *json) {
    wharf__begin();
    wharf_description description = wharf_describe();
    if (wharf__running.failed) {
        wharf__panic(wharf__running.failure.message.ptr);
    }
    *json = wharf__to(wharf__describe(&description));
    wharf__end();
}
