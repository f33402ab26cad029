//! The glue that is generated from wit/. Owns nothing by hand.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "controller",
    imports: {
        "wharf:plugin/event.get-many": async | trappable,
        "wharf:plugin/event.changed": async | trappable,
        "wharf:plugin/cluster": async | trappable,
        default: trappable,
    },
    exports: { default: async },
});
