//! The codes of the gateway; `docs/reference/errors/gateway.md` explains them. Below 100: findings about services and APIs. From
//! 100: problems in answers to clients.

use quayline_core::Code;

pub(crate) const SYNTAX: Code = Code("GTW-001");
pub(crate) const UNREADABLE: Code = Code("GTW-002");
pub(crate) const NO_SUCH: Code = Code("GTW-003");
pub(crate) const TWICE: Code = Code("GTW-004");
pub(crate) const VALUE: Code = Code("GTW-005");
pub(crate) const INCOMPLETE: Code = Code("GTW-006");
pub(crate) const TYPE: Code = Code("GTW-007");
pub(crate) const RESPONSE_DEFAULT: Code = Code("GTW-008");
pub(crate) const COUNTER: Code = Code("GTW-009");
pub(crate) const LENGTH: Code = Code("GTW-010");
pub(crate) const PATH: Code = Code("GTW-011");
pub(crate) const RULES: Code = Code("GTW-012");
pub(crate) const COMPILER: Code = Code("GTW-013");
pub(crate) const DETAIL: Code = Code("GTW-014");
pub(crate) const LOW_VALUES: Code = Code("GTW-015");
pub(crate) const BYTE_ORDER: Code = Code("GTW-016");

pub(crate) const NO_ROUTE: &str = "GTW-100";
pub(crate) const NO_METHOD: &str = "GTW-101";
pub(crate) const PARAMETER: &str = "GTW-102";
pub(crate) const BODY: &str = "GTW-103";
pub(crate) const MEDIA_TYPE: &str = "GTW-104";
pub(crate) const NOT_ACCEPTABLE: &str = "GTW-105";
pub(crate) const FIELDS: &str = "GTW-106";
pub(crate) const UNAUTHENTICATED: &str = "GTW-110";
pub(crate) const FORBIDDEN: &str = "GTW-111";
pub(crate) const TOO_MANY: &str = "GTW-112";
pub(crate) const TOO_LARGE: &str = "GTW-113";
pub(crate) const TOO_SLOW: &str = "GTW-114";
pub(crate) const NO_TOKEN_KEYS: &str = "GTW-115";
pub(crate) const UNAUDITED: &str = "GTW-116";
pub(crate) const BAD_ANSWER: &str = "GTW-120";
pub(crate) const PROVIDER_ENDED: &str = "GTW-121";
pub(crate) const PROVIDER_TIME: &str = "GTW-122";
pub(crate) const PROVIDER_BUSY: &str = "GTW-123";
pub(crate) const PROVIDER_ABSENT: &str = "GTW-124";
pub(crate) const NO_RULE: &str = "GTW-125";
pub(crate) const ANSWERED: &str = "GTW-126";
pub(crate) const BROKEN: &str = "GTW-127";
pub(crate) const NO_RECORD: &str = "GTW-128";
/// A precondition of the request is false.
pub(crate) const PRECONDITION: &str = "GTW-129";
/// A record with the key exists.
pub(crate) const DUPLICATE_KEY: &str = "GTW-130";
/// Another unit of work holds the record.
pub(crate) const RECORD_HELD: &str = "GTW-131";
/// The store rejects the record or message of the request.
pub(crate) const NOT_STORED: &str = "GTW-132";
/// The store is full.
pub(crate) const STORE_FULL: &str = "GTW-133";
/// The reply did not arrive in time.
pub(crate) const NO_REPLY: &str = "GTW-134";
/// The queue does not exist or is not open to clients.
pub(crate) const NO_QUEUE: &str = "GTW-135";
/// The claim has ended.
pub(crate) const NO_CLAIM: &str = "GTW-136";
/// The queue has no message with this id.
pub(crate) const NO_MESSAGE: &str = "GTW-137";
/// The queue does not support the requested operation.
pub(crate) const NOT_SUPPORTED: &str = "GTW-138";
/// The outcome of a change is not known.
pub(crate) const UNKNOWN_OUTCOME: &str = "GTW-148";
/// A page of another origin.
pub(crate) const OTHER_ORIGIN: &str = "GTW-139";
