import type { CloudModel, InputTemplate } from "./port.ts";

const onePrompt: InputTemplate = { prompt: "$prompt" };
const withRatio: InputTemplate = { ...onePrompt, aspect_ratio: "$aspect_ratio" };
/** fal's own form of a size. */
const withSize: InputTemplate = {
  ...onePrompt,
  image_size: { width: "$image_width", height: "$image_height" },
};
const askedRatio: InputTemplate = { ...onePrompt, aspect_ratio: "$asked_ratio" };
const fluxRatios = ["1:1", "16:9", "3:2", "2:3", "4:5", "5:4", "9:16", "3:4", "4:3"];
const text = { kind: "text_to_image", inputs: { required: [], optional: [] } } as const;
const edit = {
  kind: "edit",
  inputs: { required: ["image"], optional: ["reference", "reference2", "reference3"] },
} as const;
/** Their offers that do not name the pictures are left out where some are given. */
const textAndPictures = {
  kind: "text_to_image",
  inputs: { required: [], optional: ["reference", "reference2", "reference3"] },
} as const;
const threePictures = ["$reference", "$reference2", "$reference3"] as const;
/** Models of editing take more; a request has no more. */
const fourPictures = ["$image", "$reference", "$reference2", "$reference3"] as const;
const inpaint = { kind: "inpaint", inputs: { required: ["image", "mask"], optional: [] } } as const;
const upscale = { kind: "upscale", inputs: { required: ["image"], optional: [] } } as const;
const cutOut = { kind: "remove_background", inputs: { required: ["image"], optional: [] } } as const;

/**
 * The models of the providers as their documentation describes them; the first of a kind is the one that is taken when a
 * request names none. A price is given where a source states it (ai.google.dev/pricing, the
 * model's page at fal.ai). Names and fields change: an operator can replace any of
 * them in `cloud.models` of atelier.config.ts.
 */
export const builtInModels: readonly CloudModel[] = [
  {
    id: "nano-banana",
    title: "Nano Banana",
    ...textAndPictures,
    params: ["prompt", "aspect_ratio"],
    offers: [
      {
        provider: "google",
        endpoint: "gemini-3.1-flash-image",
        input: { parts: ["$prompt", ...threePictures], imageConfig: { aspectRatio: "$aspect_ratio" } },
        priceUsd: 0.067,
      },
      { provider: "fal", endpoint: "fal-ai/nano-banana", input: withRatio, priceUsd: null },
      {
        provider: "replicate",
        endpoint: "google/nano-banana",
        input: { ...withRatio, image_input: threePictures },
        priceUsd: null,
      },
    ],
  },
  {
    id: "flux-2-pro",
    title: "FLUX.2 pro",
    ...textAndPictures,
    params: ["prompt", "aspect_ratio", "seed"],
    offers: [
      {
        provider: "replicate",
        endpoint: "black-forest-labs/flux-2-pro",
        input: { ...withRatio, seed: "$seed", input_images: threePictures },
        ratios: fluxRatios,
        priceUsd: null,
      },
      {
        provider: "fal",
        endpoint: "fal-ai/flux-2-pro",
        input: { ...withSize, seed: "$seed" },
        priceUsd: null,
      },
    ],
  },
  {
    id: "z-image-turbo",
    title: "Z-Image Turbo",
    ...text,
    params: ["prompt", "aspect_ratio", "seed"],
    offers: [
      {
        provider: "fal",
        endpoint: "fal-ai/z-image/turbo",
        input: { ...withSize, seed: "$seed" },
        priceUsd: null,
      },
      {
        provider: "kie",
        endpoint: "z-image",
        input: withRatio,
        ratios: ["1:1", "4:3", "3:4", "16:9", "9:16"],
        priceUsd: null,
      },
    ],
  },
  {
    id: "soul",
    title: "Higgsfield Soul",
    ...text,
    params: ["prompt", "aspect_ratio"],
    offers: [
      {
        provider: "higgsfield",
        endpoint: "higgsfield-ai/soul/standard",
        input: { ...withRatio, resolution: "1080p" },
        ratios: ["9:16", "16:9", "4:3", "3:4", "1:1", "2:3", "3:2"],
        priceUsd: null,
      },
    ],
  },
  {
    id: "gpt-image",
    title: "GPT Image",
    ...text,
    params: ["prompt", "size"],
    offers: [
      {
        provider: "openai",
        endpoint: "gpt-image-2.6-flare",
        input: { ...onePrompt, size: "$size" },
        priceUsd: null,
      },
    ],
  },
  {
    id: "nano-banana-edit",
    title: "Nano Banana edit",
    ...edit,
    params: ["prompt", "asked_ratio"],
    offers: [
      {
        provider: "google",
        endpoint: "gemini-3.1-flash-image",
        input: {
          parts: ["$prompt", ...fourPictures],
          imageConfig: { aspectRatio: "$asked_ratio" },
        },
        priceUsd: 0.067,
      },
      {
        provider: "fal",
        endpoint: "fal-ai/nano-banana/edit",
        input: { ...askedRatio, image_urls: fourPictures },
        priceUsd: null,
      },
      {
        provider: "replicate",
        endpoint: "google/nano-banana",
        input: { ...askedRatio, image_input: fourPictures },
        priceUsd: null,
      },
      {
        provider: "kie",
        endpoint: "google/nano-banana-edit",
        input: {
          ...onePrompt,
          image_urls: fourPictures,
          // Its own default is a square.
          image_size: { $or: ["$asked_ratio", "auto"] },
        },
        priceUsd: null,
      },
    ],
  },
  {
    id: "flux-2-pro-edit",
    title: "FLUX.2 pro edit",
    ...edit,
    params: ["prompt", "asked_ratio", "seed"],
    offers: [
      {
        provider: "replicate",
        endpoint: "black-forest-labs/flux-2-pro",
        input: { ...askedRatio, seed: "$seed", input_images: fourPictures },
        ratios: fluxRatios,
        priceUsd: null,
      },
      {
        provider: "kie",
        endpoint: "flux-2/pro-image-to-image",
        input: { ...onePrompt, input_urls: fourPictures },
        priceUsd: null,
      },
    ],
  },
  {
    id: "qwen-image-edit",
    title: "Qwen Image Edit",
    kind: "edit",
    inputs: { required: ["image"], optional: ["reference", "reference2"] },
    params: ["prompt", "image_width", "image_height", "seed"],
    offers: [
      {
        provider: "fal",
        endpoint: "fal-ai/qwen-image-edit-2511",
        input: { ...withSize, seed: "$seed", image_urls: ["$image", "$reference", "$reference2"] },
        priceUsd: null,
      },
    ],
  },
  {
    id: "gpt-image-edit",
    title: "GPT Image edit",
    ...edit,
    params: ["prompt", "size"],
    offers: [
      {
        provider: "openai",
        endpoint: "gpt-image-2.6-sunburst",
        input: { ...onePrompt, image: fourPictures, size: "$size" },
        priceUsd: null,
      },
    ],
  },
  {
    id: "flux-fill",
    title: "FLUX Fill",
    ...inpaint,
    params: ["prompt", "seed", "strength"],
    offers: [
      {
        provider: "replicate",
        endpoint: "black-forest-labs/flux-fill-pro",
        input: { ...onePrompt, seed: "$seed", image: "$image", mask: "$mask" },
        priceUsd: null,
      },
      {
        provider: "fal",
        endpoint: "fal-ai/flux-lora/inpainting",
        input: {
          ...onePrompt,
          seed: "$seed",
          strength: "$strength",
          image_url: "$image",
          mask_url: "$mask",
        },
        priceUsd: null,
      },
    ],
  },
  {
    id: "gpt-image-inpaint",
    title: "GPT Image inpaint",
    ...inpaint,
    params: ["prompt"],
    offers: [
      {
        provider: "openai",
        endpoint: "gpt-image-2.6-sunburst",
        input: { ...onePrompt, image: "$image", mask: "$mask" },
        priceUsd: null,
      },
    ],
  },
  {
    id: "real-esrgan",
    title: "Real-ESRGAN",
    ...upscale,
    params: ["scale"],
    offers: [
      {
        provider: "replicate",
        endpoint: "nightmareai/real-esrgan",
        input: { image: "$image", scale: "$scale", face_enhance: false },
        priceUsd: null,
      },
      {
        provider: "fal",
        endpoint: "fal-ai/esrgan",
        input: { image_url: "$image", scale: "$scale" },
        priceUsd: null,
      },
    ],
  },
  {
    id: "background-remove",
    title: "Background removal",
    ...cutOut,
    params: [],
    offers: [
      { provider: "fashn", endpoint: "background-remove", input: { image: "$image" }, priceUsd: null },
      { provider: "kie", endpoint: "recraft/remove-background", input: { image: "$image" }, priceUsd: null },
    ],
  },
];
