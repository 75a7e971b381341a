/**
 * Deliveries: tell receivers outside of the studio that a job has ended, once each, also when processes die.
 *
 *     (job ends) ──owe──▶ waiting ──acquire──▶ sending ──markDelivered──▶ delivered ─┐
 *                            ▲                   │                                   │ redeliver
 *                            ├──release, later───┤                                   │
 *                            ├──lock too old─────┤                                   │
 *                            │                   └──refused, gone, no attempt left──▶ failed
 *                            └───────────────────────────────────────────────────────┴─┘
 *
 * Terms. Delivery: one message for one receiver, a row; its id is the receiver's key against repetition. Channel: a way to
 * reach a receiver (webhook, e-mail, Telegram). Target: the receiver in the channel's terms. Endpoint: an address that a
 * user registered for webhooks. Lock: `delivering_at` and `lock_token` of the row. Attempt: every lock that was won.
 *
 * Rules. Rows are made by the statement that ends the job (`owe`), never later; those of a batch by the trigger `end_batch`
 * in the transaction that ends its last job; that of a change of an account stands in the transaction of its audit entry
 * (`recordChange` of accounts). Only the holder of the lock sends, and it
 * writes under the lock's token. `delivered_at` is set after the send: a process that dies in between leads to a second
 * message after `deliveryLockMs`, since no receiver can be asked. A send ends within `deliverySendMs`. All times are the
 * database's. No secret and no query of an address gets into logs and answers; rows have secrets sealed with a key from
 * `AUTH_SECRET`, and a process with another one leaves their webhooks alone. Of jobs only the end is known here: `owe` takes
 * completed and failed ones.
 */
export { alertAdmins } from "./alert.ts";
export { type Channel, DeliveryError, type OwedDelivery } from "./channel.ts";
export { deliver, type Via } from "./deliver.ts";
export { emailChannel, openTransport } from "./email.ts";
export {
  createEndpoint,
  deleteEndpoint,
  enableEndpoint,
  listEndpoints,
  requireWebhookUrl,
  rotateSecret,
  testEndpoint,
} from "./endpoints.ts";
export { type DueDelivery, findDue, findOwedOf, owe, oweOnce, redeliver } from "./ledger.ts";
export {
  listDeliveries,
  listDeliveriesSchema,
  pruneDeliveries,
  readAttempts,
  searchDeliveries,
  searchDeliveriesSchema,
} from "./log.ts";
export { linkTo, type MessageJob, readMessageJob } from "./message.ts";
export { confirmEmail, readNotifications, requestEmailCode, setNotification } from "./notifications.ts";
export { countUnreadableSecrets, sealSecrets } from "./sealed-secret.ts";
export { webhookChannel } from "./webhook.ts";
