/* SPDX-License-Identifier: MIT */
/* struct_size.h: reads a struct of a caller that may have been built with an
   older or a newer header.

   Such a struct begins with its size, a gsize. Fields are only appended, and
   zero means what the library did before the field existed. So a smaller struct
   is one whose later fields are zero; a larger one is accepted if all fields
   unknown to this library are zero. doc/compatibility.md has the rules.

   Thread safety: any thread. */
#ifndef HASS_STRUCT_SIZE_H
#define HASS_STRUCT_SIZE_H

#include <glib.h>

G_BEGIN_DECLS

gboolean hass_struct_read (gpointer into, gsize size, gsize least,
                           gconstpointer from, const char *type,
                           GError **error);

/* The size in bytes of a struct of type @type whose last field is @member. */
#define HASS_SIZE_UP_TO(type, member)                                          \
  (G_STRUCT_OFFSET (type, member) + sizeof (((type *)NULL)->member))

G_END_DECLS

#endif
