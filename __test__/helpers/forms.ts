// What the cases of scripts/lib/structured-cases.mjs need, from the sources.
export { validatorOf } from "../../ts/engine/text/structured/validate.js";
export { structureOf } from "../../ts/handlers/form/structure.js";
export { objectSchema } from "../../ts/handlers/request/object.js";
