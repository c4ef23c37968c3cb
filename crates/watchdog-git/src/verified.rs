//! Reads objects whose bytes must match their names: any process that can write to the repository can put other bytes into a loose object.

use gix::ObjectId;
use gix::hash::oid;
use gix::objs::{Data, Find};

use super::error::{Error, ReadContext as _};

/// The objects of a repository, each checked against its name as it is read.
#[derive(Clone, Copy)]
pub(super) struct VerifyingObjectReader<'r>(pub &'r gix::OdbHandle);

impl Find for VerifyingObjectReader<'_> {
    fn try_find<'a>(
        &self,
        id: &oid,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Option<Data<'a>>, gix::Error> {
        let Some(data) = self.0.try_find(id, buffer)? else {
            return Ok(None);
        };
        let computed_id = gix::objs::compute_hash(id.kind(), data.kind, data.data)?;
        if computed_id.as_ref() != id {
            return Err(gix::Error::from_error(std::io::Error::other(format!(
                "object {id} is damaged: its bytes are those of {computed_id}"
            ))));
        }
        Ok(Some(data))
    }
}

impl VerifyingObjectReader<'_> {
    /// Reads a file that must be there.
    pub(super) fn blob(self, id: ObjectId, buffer: &mut Vec<u8>) -> Result<(), Error> {
        match self
            .try_find(&id, buffer)
            .with_context(|| format!("read object {id}"))?
        {
            Some(_) => Ok(()),
            None => Err(Error::read_failure(
                format!("read object {id}"),
                "the object is missing",
            )),
        }
    }
}

/// The object of this name, or the one that a tag leads to; `None` where it is missing or a tag is malformed, on which gix panics.
pub(super) fn peel_tags(repo: &gix::Repository, id: ObjectId) -> Option<gix::Object<'_>> {
    let mut object = repo.try_find_object(id).ok()??;
    while object.kind == gix::object::Kind::Tag {
        let target = object.to_tag_ref_iter().target_id().ok()?;
        object = repo.try_find_object(target).ok()??;
    }
    Some(object)
}
