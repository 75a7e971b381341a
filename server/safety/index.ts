export { adultConsent, recordConsent, requireConsent } from "./consent.ts";
export { digitalSourceTypes, provenanceXmp } from "../safety.ts";
export { readDigitalSourceType } from "./provenance-reader.ts";
