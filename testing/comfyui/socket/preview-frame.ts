export interface Preview {
  readonly format: "jpeg" | "png";
  readonly bytes: Buffer;
}

const previewImage = 1;
const shownText = 3;
const previewImageWithMetadata = 4;
const imageTypes = { jpeg: 1, png: 2 } as const;

/** Binary event 1: event, image type, image; it names no prompt. */
export function plainFrame(preview: Preview): Buffer {
  return Buffer.concat([number32(previewImage), number32(imageTypes[preview.format]), preview.bytes]);
}

/** Binary event 4: event, length of the JSON, JSON, image; only for clients that asked for it. */
export function metadataFrame(preview: Preview, promptId: string, nodeId: string): Buffer {
  const meta = {
    node_id: nodeId,
    prompt_id: promptId,
    display_node_id: nodeId,
    parent_node_id: null,
    real_node_id: nodeId,
    image_type: `image/${preview.format}`,
  };
  const json = Buffer.from(JSON.stringify(meta));
  return Buffer.concat([number32(previewImageWithMetadata), number32(json.length), json, preview.bytes]);
}

/** Binary event 3: event, length of the node's id, id, text. */
export function textFrame(nodeId: string, text: string): Buffer {
  const id = Buffer.from(nodeId);
  return Buffer.concat([number32(shownText), number32(id.length), id, Buffer.from(text)]);
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
