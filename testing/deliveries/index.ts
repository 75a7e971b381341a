/** Simulated receivers of deliveries: an HTTP server for webhooks with the faults of real ones, and a mail server. */
export { startMailServer, type ReceivedMail } from "./mail-server.ts";
export { startWebhookReceiver, type WebhookFault, type WebhookReceiver } from "./webhook-receiver.ts";
export {
  addEndpoint,
  countUndelivered,
  noMailServer,
  oweCompleted,
  readDelivery,
  readNotices,
} from "./rows.ts";
