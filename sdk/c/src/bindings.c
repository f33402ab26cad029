/*
 * The generated bindings, compiled into the plugin. What they allocate is memory of the call,
 * which arena.c gives (`cabi_realloc`) and takes back as a whole: they free nothing.
 */
#include <stdlib.h>

#define free(pointer) ((void)(pointer))
#define realloc(pointer, size) ((void)(pointer), (void)(size), (void *)NULL)

#include "../bindings/controller.c"
