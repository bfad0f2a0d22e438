(* Theorem momentum of models/mathematics.md (models/training/momentum.cpp, MomentumResponses of update_rule.hpp), over the
   integers: a step acts on a velocity w, and that on the parameter. Friction is the same in all steps, rates do not rise. *)
From Coq Require Import Reals Lra Lia ZArith List Bool.
From Flocq Require Import Core.
From Holdfast Require Import core_and_radius averaged_momentum.
Import ListNotations.
Open Scope Z_scope.

Fixpoint sumz (f : nat -> Z) (n : nat) : Z := match n with O => 0 | S k => sumz f k + f k end.
Lemma sumz_le f g n : (forall k, (k < n)%nat -> f k <= g k) -> sumz f n <= sumz g n.
Proof. induction n; simpl; intros H; [lia|]. pose proof (H n ltac:(lia)). pose proof (IHn ltac:(intros; apply H; lia)). lia. Qed.
Lemma sumz_add f g n : sumz (fun k => f k + g k) n = sumz f n + sumz g n.
Proof. induction n; simpl; lia. Qed.
Lemma sumz_pos f n : (forall k, (k < n)%nat -> 0 <= f k) -> 0 <= sumz f n.
Proof. induction n; simpl; intros H; [lia|]. pose proof (H n ltac:(lia)). pose proof (IHn ltac:(intros; apply H; lia)). lia. Qed.
Lemma sumz_swap (f : nat -> nat -> Z) n m : sumz (fun a => sumz (fun b => f a b) m) n = sumz (fun b => sumz (fun a => f a b) n) m.
Proof. induction n; simpl; [induction m; simpl; lia|]. rewrite IHn, <- sumz_add. reflexivity. Qed.
Lemma sumz_longer f n n' : (n <= n')%nat -> (forall k, 0 <= f k) -> sumz f n <= sumz f n'.
Proof. intros H F. induction H; simpl; [lia|]. specialize (F m). lia. Qed.
(* at most one of them counts *)
Lemma sumz_one (p : nat -> bool) F n : 0 <= F -> (forall a b, p a = true -> p b = true -> a = b) -> sumz (fun u => if p u then F else 0) n <= F.
Proof.
  intros HF O. induction n; simpl; [lia|]. destruct (p n) eqn:P; [|lia].
  enough (sumz (fun u => if p u then F else 0) n <= 0) by lia. clear IHn.
  assert (Z0 : sumz (fun u => if p u then F else 0) n <= sumz (fun _ => 0) n).
  { apply sumz_le. intros k Hk. destruct (p k) eqn:Q; [|lia]. assert (k = n) by (apply O; assumption). lia. }
  assert (sumz (fun _ => 0) n = 0) by (clear; induction n; simpl; lia). lia.
Qed.

(* capped one by one and in all is capped in all *)
Lemma capped_in_all M f n : 0 <= M -> (forall k, 0 <= f k) -> Z.min (sumz (fun k => Z.min (f k) M) n) M = Z.min (sumz f n) M.
Proof. intros HM F. assert (P : forall m, 0 <= sumz f m) by (intros; apply sumz_pos; auto). induction n; cbn [sumz]; [reflexivity|]. specialize (F n). specialize (P n). lia. Qed.

Section Momentum.
Variables (Index : Type) (L : Z) (epoch : nat -> nat) (Gamma : Index -> Z).
Variables (friction : R) (gradient rate : nat -> R).
Hypothesis HL : 0 <= L.
Hypothesis HG : forall p, 0 <= Gamma p.
Hypothesis Hd : (0 <= friction <= 1)%R.
Hypothesis Hv : forall t, (0 <= gradient t)%R.
Hypothesis Hr : forall t, (0 <= rate t)%R.
Hypothesis rates_fall : forall t u, (t <= u)%nat -> (rate u <= rate t)%R.
Definition velocity t w S := updated friction (gradient t) L w S.
Definition step (_ : Index) t (s : state) S : state := let w := velocity t (snd s) S in (clamp L (fst s + g (rate t) w), w).
Definition step_left (_ : Index) t (r : state) b : state :=
  let u := Z.min (h friction (snd r) + Zceil (gradient t * IZR b)) (2 * L) in (fst r + Zceil (rate t * IZR u), u).

Fixpoint aged (i : nat) (b : Z) : Z := match i with O => b | S k => h friction (aged k b) end.
(* what an impulse b of step u has given theta after t steps *)
Definition given (u t : nat) (b : Z) : Z := sumz (fun i => Zceil (rate (u + i) * IZR (aged i b))) (t - u).
Section Radius.
Variable G : Z.
Definition impulse t : Z := Z.min (Zceil (gradient t * IZR G)) (2 * L).
(* greatest_impulse_, and what a step's impulse has beyond it: a response of its own *)
Fixpoint greatest (e n : nat) : Z := match n with O => 0 | S k => if Nat.eqb (epoch k) e then Z.max (greatest e k) (impulse k) else greatest e k end.
Definition excess s : Z := Z.max 0 (impulse s - greatest (epoch s) s).
Definition radius_of t : Z := Z.min (sumz (fun s => Z.min (given s t (excess s)) (2 * L)) t) (2 * L).
End Radius.
Definition radius (p : Index) t : Z := radius_of (Gamma p) t.

Lemma aged_pos i b : 0 <= b -> 0 <= aged i b.
Proof. intros. induction i; simpl; [assumption|]. apply h_pos; assumption. Qed.
Lemma aged_mono i a b : a <= b -> aged i a <= aged i b.
Proof. intros. induction i; simpl; [assumption|]. apply h_mono; assumption. Qed.
Lemma aged_add i a b : aged i (a + b) <= aged i a + aged i b.
Proof. induction i; simpl; [lia|]. pose proof (h_mono _ Hd _ _ IHi). pose proof (h_sub friction (aged i a) (aged i b)). lia. Qed.
Lemma given_pos u t b : 0 <= b -> 0 <= given u t b.
Proof. intros. apply sumz_pos. intros. apply ceil_pos; [apply Hr|apply aged_pos; assumption]. Qed.
Lemma given_mono u t a b : a <= b -> given u t a <= given u t b.
Proof. intros. apply sumz_le. intros. apply ceil_mono; [apply Hr|apply aged_mono; assumption]. Qed.
Lemma given_add u t a b : given u t (a + b) <= given u t a + given u t b.
Proof.
  unfold given. rewrite <- sumz_add. apply sumz_le. intros i _.
  pose proof (ceil_mono _ (Hr (u + i)) _ _ (aged_add i a b)). pose proof (ceil_sub (rate (u + i)) (aged i a) (aged i b)). lia.
Qed.
(* the first step of an epoch gives the most *)
Lemma given_earlier s u t b : 0 <= b -> (s <= u)%nat -> given u t b <= given s t b.
Proof.
  intros Hb H. unfold given. apply Z.le_trans with (sumz (fun i => Zceil (rate (s + i) * IZR (aged i b))) (t - u)).
  - apply sumz_le. intros i _. apply Zceil_le. apply Rmult_le_compat_r; [apply IZR_le, aged_pos, Hb|apply rates_fall; lia].
  - apply sumz_longer; [lia|]. intros. apply ceil_pos; [apply Hr|apply aged_pos, Hb].
Qed.
Lemma given_next u t b : (u <= t)%nat -> given u (S t) b = given u t b + Zceil (rate t * IZR (aged (t - u) b)).
Proof. intros H. unfold given. replace (S t - u)%nat with (S (t - u)) by lia. simpl. replace (u + (t - u))%nat with t by lia. reflexivity. Qed.

Lemma impulse_pos G t : 0 <= G -> 0 <= impulse G t.
Proof. intros. unfold impulse. pose proof (ceil_pos _ (Hv t) _ H). lia. Qed.
Lemma excesses G e n : sumz (fun s => if Nat.eqb (epoch s) e then excess G s else 0) n = greatest G e n.
Proof. induction n; simpl; [reflexivity|]. rewrite IHn. unfold excess. destruct (Nat.eqb_spec (epoch n) e) as [->|]; lia. Qed.
(* what one impulse gives, by the excesses of its epoch up to it *)
Lemma by_excesses G u t : 0 <= G -> given u t (impulse G u) <= sumz (fun s => if Nat.leb s u && Nat.eqb (epoch s) (epoch u) then given s t (excess G s) else 0) (S u).
Proof.
  intros HG0. assert (X : forall s, 0 <= excess G s) by (intros; unfold excess; lia).
  assert (A : forall n, (n <= S u)%nat -> given u t (sumz (fun s => if Nat.eqb (epoch s) (epoch u) then excess G s else 0) n) <=
    sumz (fun s => if Nat.leb s u && Nat.eqb (epoch s) (epoch u) then given s t (excess G s) else 0) n).
  { assert (Z0 : given u t 0 <= 0).
    { assert (A0 : forall i, aged i 0 = 0) by (induction i; simpl; [reflexivity|rewrite IHi; apply h_zero]). unfold given.
      apply Z.le_trans with (sumz (fun _ => 0) (t - u)); [|clear; induction (t - u)%nat; simpl; lia].
      apply sumz_le. intros. rewrite A0, Rmult_0_r, Zceil_IZR. lia. }
    induction n; intros Hn; cbn [sumz]; [exact Z0|]. specialize (IHn ltac:(lia)).
    set (a := sumz _ n) in *. pose proof (given_add u t a (if Nat.eqb (epoch n) (epoch u) then excess G n else 0)).
    destruct (Nat.leb_spec n u); [|lia]. destruct (Nat.eqb (epoch n) (epoch u)); cbn [andb]; [|lia].
    pose proof (given_earlier n u t (excess G n) (X n) ltac:(lia)). lia. }
  specialize (A (S u) (le_n _)). rewrite excesses in A. eapply Z.le_trans; [|exact A]. apply given_mono. cbn [greatest]. rewrite Nat.eqb_refl. lia.
Qed.
(* so a record that acts once an epoch gives no more than all excesses *)
Lemma of_one_record G s t : 0 <= G -> once epoch s -> sumz (fun u => if s u then given u t (impulse G u) else 0) t <= sumz (fun k => given k t (excess G k)) t.
Proof.
  intros HG0 O. assert (X : forall k, 0 <= given k t (excess G k)) by (intros; apply given_pos; unfold excess; lia).
  apply Z.le_trans with (sumz (fun u => sumz (fun k => if s u && (Nat.leb k u && Nat.eqb (epoch k) (epoch u)) then given k t (excess G k) else 0) t) t).
  - apply sumz_le. intros u Hu. destruct (s u); cbn [andb].
    + eapply Z.le_trans; [apply by_excesses; exact HG0|]. apply sumz_longer; [lia|]. intros k. destruct (_ && _); [apply X|lia].
    + apply sumz_pos. intros. lia.
  - rewrite sumz_swap. apply sumz_le. intros k _. apply (sumz_one (fun u => s u && (Nat.leb k u && Nat.eqb (epoch k) (epoch u)))); [apply X|].
    intros a b A B. rewrite !andb_true_iff, !Nat.eqb_eq in *. apply O; intuition congruence.
Qed.
Lemma of_all_records G rs t : 0 <= G -> Forall (once epoch) rs ->
  sumz (fun u => Z.of_nat (acting rs u) * given u t (impulse G u)) t <= Z.of_nat (length rs) * sumz (fun k => given k t (excess G k)) t.
Proof.
  intros HG0 F. induction F as [|s rs O F IH].
  - cbn [length]. change (Z.of_nat 0) with 0. rewrite Z.mul_0_l. apply Z.le_trans with (sumz (fun _ => 0) t); [|clear; induction t; simpl; lia].
    apply sumz_le. intros. unfold acting. cbn [filter length]. lia.
  - pose proof (of_one_record G s t HG0 O) as A. cbn [length]. rewrite Nat2Z.inj_succ, Z.mul_succ_l.
    assert (E : sumz (fun u => Z.of_nat (acting (s :: rs) u) * given u t (impulse G u)) t =
      sumz (fun u => Z.of_nat (acting rs u) * given u t (impulse G u)) t + sumz (fun u => if s u then given u t (impulse G u) else 0) t).
    { rewrite <- sumz_add. apply Z.le_antisymm; apply sumz_le; intros u _; unfold acting; cbn [filter]; destruct (s u); cbn [length]; lia. }
    lia.
Qed.

Theorem momentum : optimiser Index L epoch Gamma radius step step_left.
Proof.
  unfold optimiser. repeat match goal with |- _ /\ _ => split end.
  - intros p t s s' S S' (A & B) HS. unfold step. cbv zeta. pose proof (updated_mono _ _ Hd (Hv t) L _ _ S S' HL B HS) as W. fold (velocity t (snd s) S) (velocity t (snd s') S') in W.
    split; cbn [fst snd]; [|exact W]. destruct (update_rule _ _ Hd (Hr t)) as (M & _). destruct (M _ _ W) as (_ & M2 & _).
    eapply Z.sub_nonneg, (clamp_step L _ _ HL). lia.
  - intros p t s S. unfold step, velocity, updated. cbv zeta. split; split; cbn [fst snd both]; apply clamp_range; exact HL.
  - intros p t s s' S S' b HS. unfold step, step_left. cbv zeta. set (w := velocity t (snd s) S). set (w' := velocity t (snd s') S').
    assert (B : Z.abs (w' - w) <= Z.min (h friction (snd (apart s' s)) + Zceil (gradient t * IZR b)) (2 * L)).
    { pose proof (updated_apart _ _ Hd (Hv t) L (snd s) (snd s') S S' b HL HS).
      assert (R : forall x S, - L <= velocity t x S <= L) by (intros; apply clamp_range; exact HL).
      pose proof (R (snd s) S). pose proof (R (snd s') S'). cbn [snd apart]. apply Z.min_glb; unfold w, w' in *; [assumption|lia]. }
    split; cbn [fst snd apart]; [|exact B].
    pose proof (clamp_apart L (fst s + g (rate t) w) (fst s' + g (rate t) w') HL). pose proof (g_apart _ (Hr t) w w' _ B). cbn [fst snd apart] in *. lia.
  - intros p t r b (A & B) Hb. pose proof (h_pos _ Hd _ B). pose proof (ceil_pos _ (Hv t) _ Hb). unfold step_left. cbv zeta.
    set (u := Z.min _ _). assert (U : 0 <= u) by (unfold u; apply Z.min_glb; lia). pose proof (ceil_pos _ (Hr t) _ U). split; cbn [fst snd zero] in *; lia.
  - intros p rs x O X0 XL XS t. set (G := Gamma p) in *. pose proof (HG p) as PG. fold G in PG. set (n := fun u => Z.of_nat (acting rs u)).
    set (V := fun k => sumz (fun u => n u * aged (k - 1 - u) (impulse G u)) k).
    assert (V_next : forall k w, 0 <= w -> w <= V k -> Z.min (h friction w + Zceil (gradient k * IZR (n k * G))) (2 * L) <= V (S k)).
    { intros k w W0 WV. pose proof (h_pos _ Hd _ W0) as Hw. pose proof (h_mono _ Hd _ _ WV) as M.
      assert (Times : Zceil (gradient k * IZR (n k * G)) <= n k * Zceil (gradient k * IZR G)) by apply ceil_times.
      assert (Cap : Z.min (h friction w + n k * Zceil (gradient k * IZR G)) (2 * L) <= h friction w + n k * impulse G k).
      { apply cap_step; [exact Hw|exact (ceil_pos _ (Hv k) _ PG)|lia]. }
      assert (H2 : forall m f, h friction (sumz f m) <= sumz (fun u => h friction (f u)) m).
      { intros m f. induction m; cbn [sumz]; [rewrite h_zero; lia|]. pose proof (h_sub friction (sumz f m) (f m)). lia. }
      specialize (H2 k (fun u => n u * aged (k - 1 - u) (impulse G u))). fold (V k) in H2. cbv beta in H2.
      assert (H3 : sumz (fun u => h friction (n u * aged (k - 1 - u) (impulse G u))) k <= sumz (fun u => n u * aged (S k - 1 - u) (impulse G u)) k).
      { apply sumz_le. intros u Hu. replace (S k - 1 - u)%nat with (S (k - 1 - u)) by lia. cbn [aged]. unfold n. generalize (aged (k - 1 - u) (impulse G u)). intros a.
        induction (acting rs u) as [|m IHm]; [rewrite !Z.mul_0_l, h_zero; lia|]. rewrite Nat2Z.inj_succ, !Z.mul_succ_l. pose proof (h_sub friction (Z.of_nat m * a) a). lia. }
      assert (E : V (S k) = sumz (fun u => n u * aged (S k - 1 - u) (impulse G u)) k + n k * impulse G k).
      { unfold V. cbn [sumz]. replace (S k - 1 - k)%nat with 0%nat by lia. reflexivity. }
      lia. }
    assert (W : forall k, 0 <= snd (x k) <= V k).
    { intros k. split; [apply XL|]. induction k as [|k IH]; [rewrite X0; unfold V; simpl; lia|]. destruct (XS k) as (_ & X2).
      eapply Z.le_trans; [exact X2|]. apply V_next; [apply XL|exact IH]. }
    (* parameters *)
    assert (P : forall t, fst (x t) <= sumz (fun u => n u * given u t (impulse G u)) t).
    { intros k. induction k as [|k IH]; [rewrite X0; simpl; lia|]. destruct (XS k) as (X1 & X2).
      assert (X5 : fst (x (S k)) <= fst (x k) + Zceil (rate k * IZR (snd (step_left p k (x k) (Z.of_nat (acting rs k) * G))))) by exact X1.
      assert (A : Zceil (rate k * IZR (snd (step_left p k (x k) (Z.of_nat (acting rs k) * G)))) <= sumz (fun u => n u * Zceil (rate k * IZR (aged (k - u) (impulse G u)))) (S k)).
      { assert (B : snd (step_left p k (x k) (Z.of_nat (acting rs k) * G)) <= V (S k)) by (apply V_next; apply W).
        pose proof (ceil_mono _ (Hr k) _ _ B). 
        assert (H2 : forall m f, Zceil (rate k * IZR (sumz f m)) <= sumz (fun u => Zceil (rate k * IZR (f u))) m).
        { intros m f. induction m; cbn [sumz]; [rewrite Rmult_0_r, Zceil_IZR; lia|]. pose proof (ceil_sub (rate k) (sumz f m) (f m)). lia. }
        specialize (H2 (S k) (fun u => n u * aged (S k - 1 - u) (impulse G u))). cbv beta in H2. fold (V (S k)) in H2.
        assert (H3 : sumz (fun u => Zceil (rate k * IZR (n u * aged (S k - 1 - u) (impulse G u)))) (S k) <= sumz (fun u => n u * Zceil (rate k * IZR (aged (k - u) (impulse G u)))) (S k)).
        { apply sumz_le. intros u Hu. replace (S k - 1 - u)%nat with (k - u)%nat by lia. apply ceil_times. }
        lia. }
      assert (E : sumz (fun u => n u * given u (S k) (impulse G u)) (S k) = sumz (fun u => n u * given u k (impulse G u)) k + sumz (fun u => n u * Zceil (rate k * IZR (aged (k - u) (impulse G u)))) (S k)).
      { assert (E0 : given k k (impulse G k) = 0) by (unfold given; rewrite Nat.sub_diag; reflexivity).
        replace (sumz (fun u => n u * given u k (impulse G u)) k) with (sumz (fun u => n u * given u k (impulse G u)) (S k)) by (cbn [sumz]; rewrite E0; lia).
        rewrite <- sumz_add. apply Z.le_antisymm; apply sumz_le; intros u Hu; rewrite given_next by lia; lia. }
      lia. }
    specialize (P t). pose proof (Z.le_trans _ _ _ P (of_all_records G rs t PG O)) as Q. clear P W V_next XS X0. destruct (XL t) as (_ & (C & _)). cbn [fst both] in C.
    unfold radius, radius_of. fold G. set (total := sumz (fun k => given k t (excess G k)) t) in *.
    rewrite capped_in_all by (try lia; intros; apply given_pos; unfold excess; lia). fold total.
    fold total in Q. clear n V O. destruct rs as [|s rs]; cbn [length] in *; [change (Z.of_nat 0) with 0 in *; rewrite Z.mul_0_l in *; exact Q|]. rewrite Nat2Z.inj_succ, Z.mul_succ_l in *.
    assert (0 <= total) by (apply sumz_pos; intros; apply given_pos; unfold excess; lia).
    destruct (Z.min_spec total (2 * L)) as [(_ & ->)|(_ & ->)]; [lia|]. assert (0 <= Z.of_nat (length rs) * (2 * L)) by (apply Z.mul_nonneg_nonneg; lia). lia.
  - intros p t. unfold radius, radius_of. apply Z.min_glb; [|lia]. apply sumz_pos. intros s _. apply Z.min_glb; [|lia]. apply given_pos. unfold excess. lia.
Qed.
End Momentum.

(* ---- An example, and a wrong statement refuted ---- *)
Example momentum_example : optimiser unit 100 first_steps (fun _ => 1) (radius unit 100 first_steps (fun _ => 1) (1 / 10) tenth half) (step unit 100 (1 / 10) tenth half) (step_left unit 100 (1 / 10) tenth half).
Proof. apply momentum; unfold tenth, half; intros; try lia; lra. Qed.
(* Rates that rise: a later step gives more than the first. *)
Fact momentum_mutant : let rising t := match t with O => 0%R | _ => 1%R end in ~ given 1 rising 1 2 1 <= given 1 rising 0 2 1.
Proof.
  cbv zeta. unfold given. cbn [sumz aged Nat.sub Nat.add]. unfold h. rewrite Rmult_1_l, Zfloor_IZR. change (1 - 1) with 0.
  rewrite Rmult_0_l, Rmult_0_r, !Zceil_IZR. lia.
Qed.
