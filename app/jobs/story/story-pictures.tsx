import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { Picture } from "../../pictures/picture.tsx";

export function StoryPictures({ job }: { readonly job: JobView }) {
  const t = useTranslations("story");
  const pictures = [
    ...job.inputs.filter((input) => input.role !== "mask").map(({ role, imageId }) => ({ role, imageId })),
    ...job.outputs.map(({ imageId }) => ({ role: "result" as const, imageId })),
  ];
  return (
    <ul className="flex flex-wrap gap-4 max-sm:grid max-sm:grid-cols-3 max-sm:gap-3">
      {pictures.map(({ role, imageId }) => (
        <li key={`${role}-${imageId}`} className="flex flex-col gap-1.5">
          <Link
            href={`/gallery?image=${imageId}`}
            className="block h-40 overflow-hidden max-sm:h-auto rounded-card bg-well"
          >
            <Picture
              imageId={imageId}
              variant="thumbnail"
              alt={t(`roles.${role}`)}
              fit="contain"
              className="h-full w-auto max-sm:h-auto max-sm:w-full"
            />
          </Link>
          <span aria-hidden className="text-xs text-quiet">
            {t(`roles.${role}`)}
          </span>
        </li>
      ))}
    </ul>
  );
}
