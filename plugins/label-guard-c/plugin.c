/*
 * Reports ConfigMaps without a required label: a warning in the log, and a Kubernetes Event that
 * `kubectl describe` shows. Changes nothing.
 */
#include <wharf.h>

/* In every namespace, made by the cluster itself. */
#define ROOT_CA "kube-root-ca.crt"

typedef struct {
    wharf_str required_label;
} config;

static config read_config(void) {
    config c = {.required_label = wharf_s("owner")};
    wharf_config_only("requiredLabel");
    wharf_get_string(wharf_config, "/requiredLabel", &c.required_label);
    return c;
}

wharf_description wharf_describe(void) {
    return (wharf_description){
        .name = "label-guard",
        .version = "0.1.0",
        .subscribe = {{.name = "main", .api_version = "v1", .kind = "ConfigMap", .events = WHARF_ADD | WHARF_UPDATE}},
        .memory = "16Mi",
    };
}

void wharf_validate(void) {
    if (read_config().required_label.len == 0) {
        wharf_refuse("requiredLabel: must not be empty");
    }
}

wharf_result wharf_add(const wharf_event *event) {
    config c = read_config();
    wharf_str label;
    if (wharf_is(event->key.name, ROOT_CA) || event->deleting ||
        wharf_get_label(wharf_current, c.required_label.ptr, &label)) {
        return wharf_done();
    }
    wharf_warn("label missing", wharf_kv("label", c.required_label));
    wharf_str message = wharf_format("the label \"%s\" is required", c.required_label.ptr);
    wharf_record_event(&event->key, WHARF_WARNING, "MissingLabel", message);
    return wharf_done();
}
