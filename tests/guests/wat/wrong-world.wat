;; A whole component that is no plugin: it exports nothing.
(component)
