import type { PageModule } from "../../../dashboard/kit/modules.tsx";

export const contentLog: PageModule = {
  load: () => import("./parts.tsx"),
};
