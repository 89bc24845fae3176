//! The file of settings: read whole, copied, and replaced by a new file.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::own;
use super::record::{Record, Records};
use crate::error::Error;

/// Largest file that is read, in bytes.
const SIZE_MAX: u64 = 16 << 20;

/// A file of settings as it was read. It need not be there.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    path: PathBuf,
    /// The file that links lead to.
    place: PathBuf,
    text: Option<String>,
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsWritten {
    /// The copy of the file from before.
    pub copy: Option<PathBuf>,
    /// The file was removed: `install` had created it.
    pub is_removed: bool,
}

impl SettingsFile {
    /// Reads a file. Links are followed.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let (place, text) = content(path)?;
        Ok(Self { path: path.to_owned(), place, text })
    }

    /// Reads a file of a project. A link that leads out of the project is an error: a project that
    /// comes from elsewhere can bring one.
    pub fn read_in(project: &Path, path: &Path) -> Result<Self, Error> {
        let file = Self::read(path)?;
        let root = fs::canonicalize(project)
            .map_err(|error| Error::of_call("read the folder", project, &error))?;
        if file.place.starts_with(&root) {
            return Ok(file);
        }
        let reason = format!("a link leads out of the project, to {}", file.place.display());
        Err(Error::new(reason, "remove the link, or change the file that it leads to by hand")
            .in_file(path))
    }

    /// Returns the path, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text; `None` if there is no file.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Replaces the content. A copy of the file is kept in `state`. With `is_whole`, the new text
    /// has nothing but what `install` put into a new file: then the file is removed if `install`
    /// created it, or if it is ours as a whole.
    pub fn replace(
        &self,
        text: &str,
        is_whole: bool,
        state: &Path,
    ) -> Result<SettingsWritten, Error> {
        let (place, now) = content(&self.path)?;
        if (&place, &now) != (&self.place, &self.text) {
            let next = "another program writes it; run this again";
            return Err(Error::new("the file changed just now", next).in_file(&self.path));
        }
        let records = Records::of(state, &self.place);
        // Without an entry of ours the file is the user's, also if `install` made one once.
        let is_own = self.text.as_deref().is_some_and(|text| own::guard(text).is_some());
        let is_ours =
            |text: &String| is_own || super::installed(text).is_ok_and(|hooks| !hooks.is_empty());
        let before = match &self.text {
            Some(text) if is_ours(text) => records.read(),
            _ => Record::default(),
        };
        let is_removed = is_whole && self.text.is_some() && (before.made_file || is_own);
        let record = match &self.text {
            None => {
                let above = self.folder().ancestors();
                let missing = above.take_while(|folder| !folder.is_dir()).count();
                Record { made_file: true, made_folders: u32::try_from(missing).unwrap_or(0) }
            }
            Some(_) if is_removed => Record::default(),
            Some(_) => before,
        };
        let copy = records.keep(self.text.as_deref(), &record, &self.path)?;
        if is_removed {
            fs::remove_file(&self.place)
                .map_err(|error| Error::of_call("remove it", &self.path, &error))?;
            for folder in self.folder().ancestors().take(before.made_folders as usize) {
                // It stays where the agent put files into it.
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
            return Ok(SettingsWritten { copy, is_removed });
        }
        make_folder(self.folder())
            .and_then(|()| write_new(&self.place, text.as_bytes(), own::is_script(text)))
            .map_err(|error| Error::of_call("write it", &self.path, &error))?;
        Ok(SettingsWritten { copy, is_removed })
    }

    fn folder(&self) -> &Path {
        self.place.parent().unwrap_or(Path::new("/"))
    }
}

/// Returns the file that links lead to, and its content.
fn content(path: &Path) -> Result<(PathBuf, Option<String>), Error> {
    let failed = |error: &io::Error| Error::of_call("read it", path, error);
    let refused = |reason: &str, next: &str| Err(Error::new(reason, next).in_file(path));
    let there = match fs::metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match fs::symlink_metadata(path) {
                Ok(_) => refused(
                    "a link that leads to no file",
                    "make the file that it leads to, or remove the link",
                ),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // A folder that is a link stays one. Folders may be made in between.
                    let place = path.ancestors().skip(1).find_map(|above| {
                        let below = path.strip_prefix(above).ok()?;
                        Some(fs::canonicalize(above).ok()?.join(below))
                    });
                    Ok((place.unwrap_or_else(|| path.to_owned()), None))
                }
                Err(error) => Err(failed(&error)),
            };
        }
        Err(error) => return Err(failed(&error)),
    };
    if there.is_dir() {
        return refused("a folder, not a file", "move the folder away");
    }
    if !there.is_file() {
        return refused("neither a file nor a folder", "move it away");
    }
    let place = fs::canonicalize(path).map_err(|error| failed(&error))?;
    let mut bytes = Vec::new();
    let file = File::open(&place).map_err(|error| failed(&error))?;
    file.take(SIZE_MAX + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > SIZE_MAX {
        return refused("larger than 16 MiB", "move the file away: settings are smaller");
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((place, Some(text))),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let reason = format!("byte {at} is not UTF-8");
            refused(&reason, "correct the file, or move it away")
        }
    }
}

/// Makes a folder and those above it, for this user only.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a new file, and renames it over the old one, whose mode and owner it takes. A script can
/// be run by its owner.
pub(super) fn write_new(place: &Path, bytes: &[u8], is_script: bool) -> io::Result<()> {
    let folder = place.parent().unwrap_or(Path::new("/"));
    // Only the user can read a temporary file.
    let mut new = tempfile::Builder::new().prefix(".milepost-").tempfile_in(folder)?;
    new.write_all(bytes)?;
    if let Ok(old) = fs::metadata(place) {
        let own = new.as_file().metadata()?;
        if (old.uid(), old.gid()) != (own.uid(), own.gid()) {
            let owner = Some(rustix::fs::Uid::from_raw(old.uid()));
            let group = Some(rustix::fs::Gid::from_raw(old.gid()));
            rustix::fs::fchown(new.as_file(), owner, group)?;
        }
        new.as_file().set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
    }
    if is_script {
        let mode = new.as_file().metadata()?.mode() & 0o7777;
        new.as_file().set_permissions(Permissions::from_mode(mode | 0o100))?;
    }
    new.as_file().sync_all()?;
    new.persist(place).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::symlink;

    use super::*;
    use crate::agent::Agent;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        /// Replaces the settings by a text, with the state in a folder of its own.
        fn replace(&self, text: &str, is_whole: bool) -> Result<SettingsWritten, Error> {
            let file = SettingsFile::read(&self.path("a/settings.json"))?;
            file.replace(text, is_whole, &self.path("state"))
        }
    }

    #[test]
    fn a_file_that_changed_since_it_was_read_is_left_alone() {
        let folder = Folder::new();
        let path = folder.path("settings.json");
        fs::write(&path, "{}").unwrap();
        let file = SettingsFile::read(&path).unwrap();
        fs::write(&path, "{ }").unwrap();
        let error = file.replace("{\"hooks\": {}}", false, &folder.path("state")).unwrap_err();
        assert!(error.to_string().ends_with("settings.json: the file changed just now"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{ }");
        // Neither is a file that was created since, or a link that leads elsewhere now.
        let new = folder.path("new.json");
        let file = SettingsFile::read(&new).unwrap();
        symlink(&path, &new).unwrap();
        assert!(file.replace("{}", false, &folder.path("state")).is_err());
        assert!(!folder.path("state").exists());
    }

    #[test]
    fn a_file_that_was_there_is_never_removed() {
        let folder = Folder::new();
        let ours = super::super::install("{}\n", Agent::Codex, Path::new("/opt/milepost"));
        let ours = ours.unwrap().text;
        assert!(!folder.replace(&ours, false).unwrap().is_removed);
        assert!(folder.replace("{}\n", true).unwrap().is_removed);
        assert!(!folder.path("a").exists());
        // The record of a file that the user removed does not count for a later one.
        folder.replace(&ours, false).unwrap();
        fs::write(folder.path("a/settings.json"), "{}\n").unwrap();
        folder.replace(&ours, false).unwrap();
        let written = folder.replace("{}\n", true).unwrap();
        assert!(!written.is_removed);
        assert_eq!(fs::read_to_string(written.copy.unwrap()).unwrap(), ours);
    }

    #[test]
    fn a_link_of_a_project_is_followed_within_the_project_only() {
        let folder = Folder::new();
        for name in ["outside", "project/own"] {
            fs::create_dir_all(folder.path(name)).unwrap();
        }
        let project = folder.path("project");
        symlink("../outside", project.join("folder")).unwrap();
        symlink("own", project.join("inside")).unwrap();
        fs::write(folder.path("outside/settings.json"), "{}").unwrap();
        symlink("../outside/settings.json", project.join("file.json")).unwrap();
        for refused in ["folder/settings.json", "folder/new/settings.json", "file.json"] {
            let error = SettingsFile::read_in(&project, &project.join(refused)).unwrap_err();
            assert!(error.to_string().contains("leads out of the project"), "{error}");
        }
        for followed in ["inside/settings.json", "new/settings.json", "settings.json"] {
            SettingsFile::read_in(&project, &project.join(followed)).unwrap();
        }
    }

    #[test]
    fn what_fails_leaves_no_file_behind() {
        let folder = Folder::new();
        fs::write(folder.path("state"), "").unwrap();
        assert!(folder.replace("{}", false).is_err());
        assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 1);
    }
}
