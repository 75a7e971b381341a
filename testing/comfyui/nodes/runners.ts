import { getImageSize, imageBatch, imageFromBatch, repeatImageBatch } from "./batch-image.ts";
import { imageBlend } from "./blend-image.ts";
import { growMask, imageToMask, invertMask, maskToImage, thresholdMask } from "./change-mask.ts";
import { imageBlur, imageCrop, imageFlip, imageInvert, imageRotate, imageSharpen } from "./change-pixels.ts";
import { cropMask, featherMask, imageColorToMask, maskComposite, splitAlpha } from "./masks.ts";
import { imageCompositeMasked } from "./composite-image.ts";
import { joinAlpha, resizeAndPad } from "./join-alpha.ts";
import { loadImage, loadImageMask } from "./load-image.ts";
import { emptyImage, solidMask } from "./make-image.ts";
import {
  emptyLatent,
  inpaintModelConditioning,
  setLatentNoiseMask,
  upscaleLatent,
  vaeDecode,
  vaeEncode,
  vaeEncodeForInpaint,
} from "./make-latent.ts";
import type { NodeRunner } from "./node-call.ts";
import { imagePadForOutpaint } from "./pixels.ts";
import { kSampler, samplerCustomAdvanced, schedule } from "./sample.ts";
import { previewAny } from "./preview-any.ts";
import { maskPreview, previewImage, saveImage } from "./files.ts";
import { saveImageWebsocket } from "./save-image-websocket.ts";
import { fluxKontextImageScale, imageScale, imageScaleBy, imageScaleToTotalPixels } from "./scale-image.ts";
import { imageStitch } from "./scale.ts";
import { imageUpscaleWithModel, loadUpscaleModel } from "./upscale-with-model.ts";

/** The classes that really do something; all others hand on opaque values. */
export const runners: ReadonlyMap<string, NodeRunner> = new Map<string, NodeRunner>([
  ["CropMask", cropMask],
  ["EmptyFlux2LatentImage", emptyLatent],
  ["EmptyImage", emptyImage],
  ["EmptyLatentImage", emptyLatent],
  ["EmptySD3LatentImage", emptyLatent],
  ["BasicScheduler", schedule],
  ["FeatherMask", featherMask],
  ["Flux2Scheduler", schedule],
  ["FluxKontextImageScale", fluxKontextImageScale],
  ["GetImageSize", getImageSize],
  ["GrowMask", growMask],
  ["ImageBatch", imageBatch],
  ["ImageBlend", imageBlend],
  ["ImageBlur", imageBlur],
  ["ImageColorToMask", imageColorToMask],
  ["ImageCompositeMasked", imageCompositeMasked],
  ["ImageCrop", imageCrop],
  ["ImageFlip", imageFlip],
  ["ImageFromBatch", imageFromBatch],
  ["ImageInvert", imageInvert],
  ["ImagePadForOutpaint", imagePadForOutpaint],
  ["ImageRotate", imageRotate],
  ["ImageScale", imageScale],
  ["ImageScaleBy", imageScaleBy],
  ["ImageScaleToTotalPixels", imageScaleToTotalPixels],
  ["ImageSharpen", imageSharpen],
  ["ImageStitch", imageStitch],
  ["ImageToMask", imageToMask],
  ["ImageUpscaleWithModel", imageUpscaleWithModel],
  ["InpaintModelConditioning", inpaintModelConditioning],
  ["InvertMask", invertMask],
  ["JoinImageWithAlpha", joinAlpha],
  ["KSampler", kSampler],
  ["KSamplerAdvanced", kSampler],
  ["LatentUpscale", upscaleLatent],
  ["LatentUpscaleBy", upscaleLatent],
  ["LoadImage", loadImage],
  ["LoadImageMask", loadImageMask],
  ["LoadImageOutput", loadImage],
  ["MaskComposite", maskComposite],
  ["MaskPreview", maskPreview],
  ["MaskToImage", maskToImage],
  ["PreviewAny", previewAny],
  ["PreviewImage", previewImage],
  ["RepeatImageBatch", repeatImageBatch],
  ["ResizeAndPadImage", resizeAndPad],
  ["SamplerCustomAdvanced", samplerCustomAdvanced],
  ["SaveImage", saveImage],
  ["SaveImageWebsocket", saveImageWebsocket],
  ["SetLatentNoiseMask", setLatentNoiseMask],
  ["SolidMask", solidMask],
  ["SplitImageWithAlpha", splitAlpha],
  ["ThresholdMask", thresholdMask],
  ["UpscaleModelLoader", loadUpscaleModel],
  ["VAEDecode", vaeDecode],
  ["VAEDecodeTiled", vaeDecode],
  ["VAEEncode", vaeEncode],
  ["VAEEncodeForInpaint", vaeEncodeForInpaint],
  ["VAEEncodeTiled", vaeEncode],
]);

/** The classes whose work takes steps: faults strike there unless they name another. */
export const steppedClasses: readonly string[] = [
  "KSampler",
  "KSamplerAdvanced",
  "SamplerCustomAdvanced",
  "ImageUpscaleWithModel",
];
