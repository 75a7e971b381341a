import type { CloudModel, InputTemplate } from "./port.ts";

const tryOn = { kind: "outfit_change", inputs: { required: ["person", "garment"], optional: [] } } as const;

/** The person, and one to four garments. */
const outfit = ["$person", "$garment", "$garment2", "$garment3", "$garment4"] as const;
const instruction =
  "Dress the person of the first picture in the ${category_text} of the second picture; if there are further pictures, put on what they show as well. Keep the person, the pose, the light and the background as they are. ${prompt}";

const fashn: InputTemplate = {
  model_image: "$person",
  garment_image: "$garment",
  category: { $category: { auto: "auto", top: "tops", bottom: "bottoms", dress: "one-pieces" } },
  seed: "$seed",
  output_format: "png",
};

/** Models of virtual try-on, the dedicated ones first; those whose licence forbids commercial use come last. */
export const tryOnModels: readonly CloudModel[] = [
  {
    id: "fashn-tryon",
    title: "FASHN try-on 1.6",
    ...tryOn,
    params: ["category", "seed"],
    offers: [
      {
        provider: "fashn",
        endpoint: "tryon-v1.6",
        input: fashn,
        priceUsd: null,
      },
      {
        provider: "fal",
        endpoint: "fal-ai/fashn/tryon/v1.6",
        input: fashn,
        priceUsd: 0.075,
      },
    ],
  },
  {
    id: "kolors-tryon",
    title: "Kolors try-on",
    ...tryOn,
    params: [],
    offers: [
      {
        provider: "fal",
        endpoint: "fal-ai/kling/v1-5/kolors-virtual-try-on",
        input: { human_image_url: "$person", garment_image_url: "$garment" },
        priceUsd: null,
      },
    ],
  },
  {
    id: "nano-banana-tryon",
    title: "Nano Banana try-on",
    kind: "outfit_change",
    inputs: { required: ["person", "garment"], optional: ["garment2", "garment3", "garment4"] },
    params: ["prompt", "category_text"],
    offers: [
      {
        provider: "google",
        endpoint: "gemini-3.1-flash-image",
        input: { parts: [instruction, ...outfit] },
        priceUsd: 0.067,
      },
      {
        provider: "fal",
        endpoint: "fal-ai/nano-banana/edit",
        input: { prompt: instruction, image_urls: outfit },
        priceUsd: null,
      },
      {
        provider: "replicate",
        endpoint: "google/nano-banana",
        input: { prompt: instruction, image_input: outfit },
        priceUsd: null,
      },
    ],
  },
  {
    id: "leffa-tryon",
    title: "Leffa try-on",
    ...tryOn,
    params: ["category", "seed"],
    offers: [
      {
        provider: "fal",
        endpoint: "fal-ai/leffa/virtual-tryon",
        input: {
          human_image_url: "$person",
          garment_image_url: "$garment",
          // It has no value for an unknown garment.
          garment_type: { $category: { top: "upper_body", bottom: "lower_body", dress: "dresses" } },
          seed: "$seed",
        },
        priceUsd: null,
      },
    ],
  },
  {
    id: "cat-vton",
    title: "CatVTON",
    ...tryOn,
    params: ["category", "seed"],
    isNonCommercial: true,
    offers: [
      {
        provider: "fal",
        endpoint: "fal-ai/cat-vton",
        input: {
          human_image_url: "$person",
          garment_image_url: "$garment",
          cloth_type: { $category: { auto: "overall", top: "upper", bottom: "lower", dress: "overall" } },
          seed: "$seed",
        },
        priceUsd: null,
      },
    ],
  },
  {
    id: "idm-vton",
    title: "IDM-VTON",
    ...tryOn,
    params: ["category", "seed"],
    isNonCommercial: true,
    offers: [
      {
        provider: "replicate",
        endpoint: "cuuupid/idm-vton:0513734a",
        input: {
          human_img: "$person",
          garm_img: "$garment",
          garment_des: "$category_text",
          // It has no value for an unknown garment.
          category: { $category: { top: "upper_body", bottom: "lower_body", dress: "dresses" } },
          seed: "$seed",
        },
        priceUsd: null,
      },
    ],
  },
];
