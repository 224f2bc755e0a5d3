/* SPDX-License-Identifier: MIT */
/* registry.c: the table of registered strategies, and the creation of an
   instance from a specification such as "hass-p:tolerance=1/64,drift=0.1";
   lists of specifications.

   Thread safety: any thread; one mutex around the table, taken last. */
#include "registry.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "hass/error.h"
#include "pool/struct_size.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static GPtrArray *table; /* of const HassStrategyOps *; under table_lock */

/* -- The table ---------------------------------------------------------- */

static const HassStrategyOps *
lookup_locked (const char *name)
{
  for (guint i = 0; i < table->len; i++)
    {
      const HassStrategyOps *ops = g_ptr_array_index (table, i);
      if (strcmp (ops->name, name) == 0)
        return ops;
    }
  return NULL;
}

static gboolean
valid_name (const char *name)
{
  gsize allowed
      = name ? strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;
  return allowed > 0 && name[allowed] == '\0';
}

static gboolean
valid_parameters (const HassStrategyOps *ops, GError **error)
{
  for (const HassParameter *p = ops->parameters; p && p->name; p++)
    {
      if (!valid_name (p->name) || !isfinite (p->min) || !isfinite (p->max)
          || !(p->preset >= p->min && p->preset <= p->max))
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                       "strategy %s: parameter \"%s\" has preset %g outside "
                       "of [%g, %g], or a name other than [a-z0-9-]+",
                       ops->name, p->name, p->preset, p->min, p->max);
          return FALSE;
        }
      for (const HassParameter *q = ops->parameters; q < p; q++)
        if (strcmp (p->name, q->name) == 0)
          {
            g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                         "strategy %s: parameter %s is there twice", ops->name,
                         p->name);
            return FALSE;
          }
    }
  return TRUE;
}

static gboolean
validate (const HassStrategyOps *ops, GError **error)
{
  const char *wrong = NULL;
  if (!valid_name (ops->name))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                   "strategy name \"%s\": must be [a-z0-9-]+",
                   ops->name ? ops->name : "(null)");
      return FALSE;
    }
  if (!ops->create)
    wrong = "has no create";
  else if (!ops->grant && ops->farms & HASS_FARM_ANY)
    wrong = "has no grant";
  else if (!ops->serve && ops->farms & HASS_FARM_PIPELINE)
    wrong = "has no serve";
  else if ((ops->farms
            & (HASS_FARM_ANY | HASS_FARM_PIPELINE | HASS_FARM_DATAFLOW))
           == 0)
    wrong = "serves no kind of farm";
  if (wrong)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY, "strategy %s %s",
                   ops->name, wrong);
      return FALSE;
    }
  if (ops->flags & ~(guint)HASS_STRATEGY_OPEN)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                   "strategy %s has unknown flags: 0x%x", ops->name,
                   ops->flags);
      return FALSE;
    }
  return valid_parameters (ops, error);
}

static gboolean
add_locked (const HassStrategyOps *ops, GError **error)
{
  if (!validate (ops, error))
    return FALSE;
  if (lookup_locked (ops->name))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                   "strategy %s is already registered", ops->name);
      return FALSE;
    }
  g_ptr_array_add (table, (gpointer)ops);
  return TRUE;
}

/* Locks the table of strategies; the caller unlocks it. The first call fills
   the table with the built-in strategies, and aborts if one of them is
   invalid. */
static void
lock (void)
{
  pthread_mutex_lock (&table_lock);
  if (table)
    return;
  table = g_ptr_array_new ();
  for (guint i = 0; hass_builtin_strategies[i]; i++)
    {
      GError *error = NULL;
      if (!add_locked (hass_builtin_strategies[i], &error))
        g_error ("%s", error->message); /* builtin.c has an invalid entry */
    }
}

gboolean
hass_strategy_register (const HassStrategyOps *ops, GError **error)
{
  HassStrategyOps own;
  if (!hass_struct_read (&own, sizeof own,
                         HASS_SIZE_UP_TO (HassStrategyOps, grant), ops,
                         "HassStrategyOps", error))
    return FALSE;
  HassStrategyOps *kept = g_memdup2 (&own, sizeof own);
  lock ();
  gboolean done = add_locked (kept, error);
  pthread_mutex_unlock (&table_lock);
  if (!done)
    g_free (kept);
  return done;
}

static gint
by_name (gconstpointer a, gconstpointer b)
{
  const HassStrategyOps *const *x = a, *const *y = b;
  return strcmp ((*x)->name, (*y)->name);
}

const HassStrategyOps **
hass_strategy_list (void)
{
  lock ();
  guint n = table->len;
  const HassStrategyOps **list = g_new0 (const HassStrategyOps *, n + 1);
  memcpy (list, table->pdata, n * sizeof *list);
  pthread_mutex_unlock (&table_lock);
  qsort (list, n, sizeof *list, by_name);
  return list;
}

const HassStrategyOps *
hass_strategy_find (const char *name, GError **error)
{
  g_return_val_if_fail (name != NULL, NULL);
  lock ();
  const HassStrategyOps *ops = lookup_locked (name);
  pthread_mutex_unlock (&table_lock);
  if (ops)
    return ops;
  g_autofree const HassStrategyOps **list = hass_strategy_list ();
  g_autoptr (GString) known = g_string_new (NULL);
  for (guint i = 0; list[i]; i++)
    g_string_append_printf (known, "%s%s", i > 0 ? ", " : "", list[i]->name);
  g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
               "no strategy \"%s\"; known are: %s", name, known->str);
  return NULL;
}

const char *
hass_strategy_default (HassFarmKind farm, HassCostClass cost)
{
  (void)cost;
  return farm == HASS_FARM_DATAFLOW   ? "flow-auto"
         : farm == HASS_FARM_PIPELINE ? "pipe-auto"
                                      : "auto";
}

/* -- Specifications ----------------------------------------------------- */

/* Parses a number, or a fraction of two numbers such as "1/64", into *value.
   Returns FALSE if the text is neither. */
static gboolean
parse_value (const char *text, double *value)
{
  const char *digits = "0123456789.eE+-";
  char *end;
  const char *slash = strchr (text, '/');
  if (strspn (text, digits) != (slash ? (gsize)(slash - text) : strlen (text)))
    return FALSE; /* excludes "inf", "nan", hexadecimal and blanks */
  *value = g_ascii_strtod (text, &end);
  if (end == text)
    return FALSE;
  if (slash)
    {
      if (end != slash || strspn (slash + 1, digits) != strlen (slash + 1))
        return FALSE;
      text = slash + 1;
      *value /= g_ascii_strtod (text, &end);
    }
  return end != text && *end == '\0' && isfinite (*value);
}

static void
list_parameters (const HassStrategyOps *ops, GString *out)
{
  if (!ops->parameters || !ops->parameters->name)
    g_string_append (out, "it has none");
  else
    g_string_append (out, "it has: ");
  for (const HassParameter *p = ops->parameters; p && p->name; p++)
    g_string_append_printf (out, "%s%s [%g, %g]",
                            p == ops->parameters ? "" : ", ", p->name, p->min,
                            p->max);
}

/* Applies one "key=value" of a specification to @values; refuses a key that
   @seen marks as given already. */
static gboolean
set_parameter (const HassStrategyOps *ops, const char *setting, double *values,
               gboolean *seen, GError **error)
{
  const char *equals = strchr (setting, '=');
  if (!equals || equals == setting)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                   "strategy %s: \"%s\" is not key=value", ops->name, setting);
      return FALSE;
    }
  g_autofree char *key = g_strndup (setting, equals - setting);
  const char *text = equals + 1;
  guint i = 0;
  while (ops->parameters && ops->parameters[i].name
         && strcmp (ops->parameters[i].name, key) != 0)
    i++;
  if (!ops->parameters || !ops->parameters[i].name)
    {
      g_autoptr (GString) known = g_string_new (NULL);
      list_parameters (ops, known);
      g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                   "strategy %s: no parameter %s (= %s); %s", ops->name, key,
                   text, known->str);
      return FALSE;
    }
  const HassParameter *p = &ops->parameters[i];
  const char *wrong = NULL;
  double value = 0;
  if (seen[i])
    wrong = "given twice";
  else if (!parse_value (text, &value))
    wrong = "neither a number nor a fraction";
  else if (value < p->min || value > p->max)
    wrong = "out of range";
  if (wrong)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                   "strategy %s: %s=%s is %s; a value in [%g, %g] is wanted "
                   "(%s)",
                   ops->name, key, text, wrong, p->min, p->max,
                   p->help ? p->help : p->name);
      return FALSE;
    }
  values[i] = value;
  seen[i] = TRUE;
  return TRUE;
}

static const char *const farm_names[]
    = { "partition", "combine",  "indivisible",
        "function",  "pipeline", "dataflow" };

static gboolean
serves (const HassStrategyOps *ops, HassFarmKind farm, GError **error)
{
  if (farm != 0 && (ops->farms & farm) == farm)
    return TRUE;
  g_autoptr (GString) asked = g_string_new (NULL);
  g_autoptr (GString) served = g_string_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (farm_names); i++)
    {
      if (farm & (1u << i))
        g_string_append_printf (asked, "%s%s", asked->len ? "+" : "",
                                farm_names[i]);
      if (ops->farms & (1u << i))
        g_string_append_printf (served, "%s%s", served->len ? ", " : "",
                                farm_names[i]);
    }
  g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
               "strategy %s does not serve a farm of kind %s; it serves: %s",
               ops->name, asked->len ? asked->str : "none", served->str);
  return FALSE;
}

/* Parses a specification, see registry.h. */
const HassStrategyOps *
hass_strategy_parse (const char *spec, double **values, GError **error)
{
  const char *colon = strchr (spec, ':');
  g_autofree char *name
      = colon ? g_strndup (spec, colon - spec) : g_strdup (spec);
  const HassStrategyOps *ops = hass_strategy_find (name, error);
  if (!ops)
    return NULL;
  guint n = 0;
  while (ops->parameters && ops->parameters[n].name)
    n++;
  g_autofree double *read = g_new0 (double, n + 1);
  g_autofree gboolean *seen = g_new0 (gboolean, n + 1);
  for (guint i = 0; i < n; i++)
    read[i] = ops->parameters[i].preset;
  if (colon)
    {
      g_auto (GStrv) settings = g_strsplit (colon + 1, ",", -1);
      for (guint i = 0; settings[i]; i++)
        if (!set_parameter (ops, settings[i], read, seen, error))
          return NULL;
      if (!settings[0])
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                       "strategy %s: nothing follows the colon", ops->name);
          return NULL;
        }
    }
  if (values)
    *values = g_steal_pointer (&read);
  return ops;
}

/* Creates an instance of a strategy from a specification "name" or
   "name:key=value,..."; NULL or "" stands for hass_strategy_default(). @env
   stays the caller's and must outlive the instance; env->parameters is set to
   the parameter values of the instance. Returns NULL with HASS_ERROR_STRATEGY
   if the specification is malformed, or with the error of the strategy's
   create(). */
HassStrategy *
hass_strategy_new (const char *spec, HassStrategyEnv *env, GError **error)
{
  g_return_val_if_fail (env != NULL, NULL);
  g_return_val_if_fail (env->struct_size == sizeof *env, NULL);
  g_return_val_if_fail (env->n_devices > 0 && env->devices != NULL, NULL);
  if (!spec || *spec == '\0')
    spec = hass_strategy_default (env->farm, env->cost);
  g_autofree double *values = NULL;
  const HassStrategyOps *ops = hass_strategy_parse (spec, &values, error);
  if (!ops || !serves (ops, env->farm, error))
    return NULL;

  HassStrategy *strategy = g_new0 (HassStrategy, 1);
  strategy->ops = ops;
  strategy->parameters = g_steal_pointer (&values);
  env->parameters = strategy->parameters;
  GError *refusal = NULL;
  strategy->self = ops->create (env, &refusal);
  if (refusal)
    {
      g_propagate_prefixed_error (error, refusal, "strategy %s: ", ops->name);
      hass_strategy_free (strategy);
      env->parameters = NULL;
      return NULL;
    }
  return strategy;
}

void
hass_strategy_free (HassStrategy *strategy)
{
  if (!strategy)
    return;
  if (strategy->ops->destroy && strategy->self)
    strategy->ops->destroy (strategy->self);
  g_free (strategy->parameters);
  g_free (strategy);
}

/* -- Lists, each strategy of which serves other kinds of farms ------------- */

static gboolean
is_parameter (const char *part)
{
  return part[strcspn (part, "=:")] == '=';
}

char **
hass_strategy_split (const char *list)
{
  g_auto (GStrv) parts = g_strsplit (list, ",", -1);
  GPtrArray *specs = g_ptr_array_new ();
  for (guint i = 0; parts[i];)
    {
      GString *spec = g_string_new (parts[i++]);
      for (; parts[i] && is_parameter (parts[i]); i++)
        g_string_append_printf (spec, ",%s", parts[i]);
      g_ptr_array_add (specs, g_string_free (spec, FALSE));
    }
  g_ptr_array_add (specs, NULL);
  return (char **)g_ptr_array_free (specs, FALSE);
}

gboolean
hass_strategy_choose (const char *list, HassFarmKind farm, char **spec,
                      GError **error)
{
  g_auto (GStrv) specs = hass_strategy_split (list);
  const char *chosen = NULL;
  *spec = NULL;
  for (char **s = specs; *s; s++)
    {
      const HassStrategyOps *ops = hass_strategy_parse (*s, NULL, error);
      if (!ops)
        return FALSE;
      if (!chosen && ops->farms & farm)
        chosen = *s;
    }
  *spec = g_strdup (chosen);
  return TRUE;
}

char *
hass_strategy_serving (HassFarmKind farm)
{
  g_autofree const HassStrategyOps **all = hass_strategy_list ();
  GString *names = g_string_new (NULL);
  for (guint i = 0; all[i]; i++)
    if (all[i]->farms & farm)
      g_string_append_printf (names, "%s%s", names->len ? ", " : "",
                              all[i]->name);
  return g_string_free (names, FALSE);
}
