export { adultConsent, recordConsent, requireConsent } from "./consent.ts";
export { digitalSourceTypes, provenanceXmp } from "./provenance.ts";
export { readDigitalSourceType } from "./provenance-reader.ts";
