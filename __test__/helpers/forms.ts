import { validatorOf } from "../../ts/engine/text/structured/validate.js";
import { structureOf } from "../../ts/handlers/form/structure.js";
import { objectSchema } from "../../ts/handlers/request/object.js";

/** What the cases of scripts/lib/structured-cases.mjs need, from the sources. */
export const forms = { objectSchema, structureOf, validatorOf };
