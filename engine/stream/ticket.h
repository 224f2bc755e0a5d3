/* SPDX-License-Identifier: MIT */
/* ticket.h: the units of one grant of a pipeline, as a round that the feeder
   knows.

   DESIGN. A feeder (engine/core/feeder.h) hands over units of a round by
   position. A ticket makes such a round of tokens that were taken from the
   ready set of a stage: position i is token i of the grant. What the feeder
   gives back stays in the ticket's round; when the grant is complete, those
   tokens go back into the ready set and the others on to the next stage.

   Thread safety: the proxy of the ticket's device, except where stated. */
#ifndef HASS_TICKET_H
#define HASS_TICKET_H

#include "stream-private.h"

/* What has become of a unit. */
enum
{
  HASS_UNIT_DONE,
  HASS_UNIT_REFUSED, /* it has failed: too large for all devices */
  HASS_UNIT_BACK,    /* to be granted again */
  HASS_UNIT_CORES    /* to be computed by cores: too large for the device */
};

typedef struct
{
  HassSlot slot; /* first, so that a slot's address is its ticket's */
  gboolean busy, over;
  guint device, stage;
  /* [capacity], n used: the units, their tokens, and the numbers of these */
  HassLoad *loads;
  HassItem **items;
  guint64 *seqs;
  guint32 n, capacity;
  HassBatch *batches; /* list of the batches that hold the tokens */
  guint8 *what; /* [capacity] what has become of each unit, once it is over */
  HassCompletion told;
  HassCompletion counts; /* without what another device has computed before */
  gint64 busy_ns; /* of it, time in which no other grant kept the device busy */
} HassTicket;

void hass_ticket_free (gpointer ticket);

#endif
