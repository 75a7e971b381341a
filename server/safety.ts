import type { JobKind } from "./engines/index.ts";

const vocabulary = "http://cv.iptc.org/newscodes/digitalsourcetype";

/** IPTC Digital Source Type of a result, by the kind of job that made it. */
export const digitalSourceTypes = {
  outfit_change: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  inpaint: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  upscale: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  // A cut-out shows the photo's own pixels: nothing in it was generated.
  remove_background: `${vocabulary}/algorithmicallyEnhanced`,
  edit: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  restore_faces: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  text_to_image: `${vocabulary}/trainedAlgorithmicMedia`,
} as const satisfies Record<JobKind, string>;

/** The XMP packet that says how a result was made; embedded in all of its files. */
export function provenanceXmp(kind: JobKind): string {
  return [
    '<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?>',
    '<x:xmpmeta xmlns:x="adobe:ns:meta/">',
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
    '<rdf:Description rdf:about=""',
    ' xmlns:xmp="http://ns.adobe.com/xap/1.0/"',
    ' xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"',
    ' xmp:CreatorTool="Atelier"',
    ` Iptc4xmpExt:DigitalSourceType="${digitalSourceTypes[kind]}"/>`,
    "</rdf:RDF></x:xmpmeta>",
    '<?xpacket end="w"?>',
  ].join("\n");
}
