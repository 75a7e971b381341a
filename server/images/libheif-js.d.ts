/** The part of libheif-js that is used; the package has no types for this entry. */
declare module "libheif-js/wasm-bundle.js" {
  interface HeifChannel {
    readonly data: Uint8Array;
    readonly width: number;
    readonly height: number;
    readonly stride: number;
    readonly bits_per_pixel: number;
  }

  interface HeifError {
    readonly code: object;
    readonly message: string;
  }

  type Chroma = `heif_chroma_interleaved_${"RGB" | "RGBA" | "RRGGBB_LE" | "RRGGBBAA_LE"}`;

  interface HeifLibrary {
    readonly heif_error_code: { readonly heif_error_Ok: object };
    readonly heif_chroma: Readonly<Record<Chroma, object>>;
    readonly heif_colorspace: { readonly heif_colorspace_RGB: object };
    heif_context_alloc(): object;
    heif_context_read_from_memory(context: object, bytes: Uint8Array): HeifError;
    heif_js_context_get_primary_image_handle(context: object): object | HeifError | null;
    heif_image_handle_has_alpha_channel(handle: object): number;
    heif_js_decode_image2(
      handle: object,
      colourSpace: object,
      chroma: object,
    ): { readonly channels: readonly HeifChannel[] } | HeifError;
  }

  const library: HeifLibrary;
  export default library;
}
